import { open } from 'lmdb';

/**
 * Writes to the state store in the folder that is named, and takes it back. Says `asking` before, and `flushed` when all is done: LMDB has a lock for a
 * transaction and another one for the flush behind it.
 */
const key = Buffer.from('\0test');
process.stdout.write('asking\n');
const env = open<Buffer, Buffer>({
  path: process.argv[2] ?? '',
  noSubdir: false,
  maxDbs: 8,
  encoding: 'binary',
  keyEncoding: 'binary',
});
env.transactionSync(() => {
  env.putSync(key, key);
  env.removeSync(key);
});
await env.close();
process.stdout.write('flushed\n');
