import { open } from 'lmdb';
import { messageOf } from '#base';
import { isDamagedStore } from './errors.ts';
import { binary } from './tables.ts';
import { walkState, type Walk } from './walk-state.ts';

/**
 * Run as a process of its own: opens the state store in the folder that is named, looks at its entries (at most so many of each table as are
 * named), writes, and ends with 0. Damaged pages end a process in native code, before any catch; here they end this one. 3 where the store is damaged, with the reason on standard
 * output; 1 for any other failure.
 */
const probeKey = Buffer.from('\0probe');
/** A page that leads nowhere is damage, whatever the library calls it. */
function isMore(entries: Iterator<unknown>, walk: Walk): boolean {
  try {
    return entries.next().done !== true;
  } catch (error) {
    walk.fault ??= messageOf(error);
    return false;
  }
}

const [, , directory = '', most] = process.argv;

try {
  const env = open<Buffer, Buffer>({ path: directory, noSubdir: false, maxDbs: 8, ...binary });
  const walk: Walk = { fault: undefined };
  const entries = walkState(env, walk, most === undefined ? undefined : Number(most));
  while (walk.fault === undefined && isMore(entries, walk));
  if (walk.fault === undefined)
    env.transactionSync(() => {
      env.putSync(probeKey, probeKey);
      env.removeSync(probeKey);
    });
  await env.close();
  if (walk.fault !== undefined) process.stdout.write(walk.fault);
  process.exitCode = walk.fault === undefined ? 0 : 3;
} catch (error) {
  process.stdout.write(messageOf(error));
  process.exitCode = isDamagedStore(error) ? 3 : 1;
}
