import { open } from 'lmdb';
import { seal } from './seal.ts';
import { unreadProgress } from './entry-codec.ts';
import type { Table } from './state-puts.ts';
import { binary, tables, type Binary } from './tables.ts';
import { walkState, type Walk } from './walk-state.ts';

/**
 * Run as a process of its own: puts every sound entry of the state store in the first folder into a new one in the second. How far the logs are indexed is
 * left behind, so that what is missing is read again from them; it must be there at all for each key, since one without it counts as new. Prints how many
 * entries were kept and lost.
 */
const [, , from = '', to = ''] = process.argv;
/** Entries of one transaction. */
const entriesAtOnce = 5000;
const keyEnd = 0;

const old = open<Buffer, Buffer>({ path: from, noSubdir: false, maxDbs: 8, ...binary });
const env = open<Buffer, Buffer>({ path: to, noSubdir: false, maxDbs: 8, ...binary });
const targets = Object.fromEntries(
  tables.map((name) => [name, env.openDB<Buffer, Buffer>({ name, ...binary })]),
) as Record<Table, Binary>;
const walk: Walk = { fault: undefined };
const counts = { kept: 0, lost: 0 };
let lastKey = '';
let waiting: (() => void)[] = [];

function flush(): void {
  const puts = waiting;
  waiting = [];
  env.transactionSync(() => {
    for (const put of puts) put();
  });
}

function keep(table: Table, key: Buffer, value: Uint8Array): void {
  waiting.push(() => targets[table].putSync(key, seal(key, value)));
  if (waiting.length >= entriesAtOnce) flush();
}

for (const { table, key, value } of walkState(old, walk)) {
  if (table === 'checkpoint') continue;
  if (value === undefined) {
    counts.lost += 1;
    continue;
  }
  const end = key.indexOf(keyEnd);
  const owner = end < 0 ? key : key.subarray(0, end);
  const name = `${table} ${owner.toString('latin1')}`;
  if (name !== lastKey) keep('progress', owner, unreadProgress);
  lastKey = name;
  if (table === 'progress') continue;
  keep(table, key, value);
  counts.kept += 1;
}
flush();
await env.close();
process.stdout.write(JSON.stringify(counts));
