import { open } from 'lmdb';

/**
 * Run as a process of its own: opens the state store in the folder that is named, reads and writes it, and ends with 0. Damaged pages end a process in
 * native code, before any catch; here they end this one. 3 where the library itself says that the store is damaged, 1 for any other failure.
 */
const damagedCodes: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30794, -30793]);
const probeKey = Buffer.from('\0probe');
const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;

try {
  const env = open<Buffer, Buffer>({
    path: process.argv[2] ?? '',
    noSubdir: false,
    maxDbs: 8,
    ...binary,
  });
  for (const name of ['dedup', 'progress', 'row']) {
    const table = env.openDB<Buffer, Buffer>({ name, ...binary });
    for (const { value } of table.getRange({ limit: 1000 })) Buffer.from(value);
  }
  env.transactionSync(() => {
    env.putSync(probeKey, probeKey);
    env.removeSync(probeKey);
  });
  await env.close();
  process.exitCode = 0;
} catch (error) {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  process.exitCode = damagedCodes.has(code) ? 3 : 1;
}
