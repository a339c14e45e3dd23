import { lockFile } from '#disk';

/** A process that takes the lock of its first argument, says so on its standard output, and stays until it is told to end or killed. */
try {
  const lock = await lockFile(process.argv[2] ?? '');
  process.stdout.write('locked\n');
  process.stdin.resume();
  process.stdin.on('end', () => lock.release());
} catch (error) {
  process.stdout.write(`${error instanceof Error && 'code' in error ? String(error.code) : ''}\n`);
}
