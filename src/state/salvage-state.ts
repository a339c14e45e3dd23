import { open, type RootDatabase } from 'lmdb';
import { messageOf } from '#base';
import { seal } from './seal.ts';
import { unreadProgress } from './entry-codec.ts';
import type { Table } from './state-puts.ts';
import { binary, tables, type Binary } from './tables.ts';
import { walkState, type Walk, type WalkedEntry } from './walk-state.ts';

/**
 * Run as a process of its own: puts every sound entry of the state store in the first folder into a new one in the second. How far the logs are indexed is
 * left behind, so that what is missing is read again from them; it must be there at all for each key, since one without it counts as new. Prints how many
 * entries were kept and lost. Rows come first: where a page ends this process, what was written until then counts.
 */
const [, , from = '', to = ''] = process.argv;
/** Entries of one transaction. */
const entriesAtOnce = 500;
const keyEnd = 0;

const old = openOld();
const env = open<Buffer, Buffer>({ path: to, noSubdir: false, maxDbs: 8, ...binary });
const targets = Object.fromEntries(
  tables.map((name) => [name, env.openDB<Buffer, Buffer>({ name, ...binary })]),
) as Record<Table, Binary>;
const walk: Walk = { fault: undefined };
const counts = { kept: 0, lost: 0 };
let lastKey = '';
let waiting: (() => void)[] = [];

/** Where it cannot even be opened nothing of it can be read: 3. */
function openOld(): RootDatabase<Buffer, Buffer> {
  try {
    return open<Buffer, Buffer>({ path: from, noSubdir: false, maxDbs: 8, ...binary });
  } catch {
    return process.exit(3);
  }
}

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

function salvage({ table, key, value }: WalkedEntry): void {
  if (table === 'checkpoint') return;
  if (value === undefined) {
    counts.lost += 1;
    return;
  }
  const end = key.indexOf(keyEnd);
  const owner = end < 0 ? key : key.subarray(0, end);
  const name = `${table} ${owner.toString('latin1')}`;
  if (name !== lastKey) keep('progress', owner, unreadProgress);
  lastKey = name;
  if (table === 'progress') return;
  keep(table, key, value);
  counts.kept += 1;
}

/** The next sound-looking entry; undefined at the end, and where no page leads any further: what was read until then counts. */
function nextOf(entries: Iterator<WalkedEntry>): WalkedEntry | undefined {
  try {
    const next = entries.next();
    return next.done === true ? undefined : next.value;
  } catch (error) {
    walk.fault ??= messageOf(error);
    return undefined;
  }
}

const entries = walkState(old, walk);
for (let one = nextOf(entries); one !== undefined; one = nextOf(entries)) salvage(one);
flush();
await env.close();
process.stdout.write(JSON.stringify(counts));
