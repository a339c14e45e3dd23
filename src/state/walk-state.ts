import type { RootDatabase } from 'lmdb';
import { unseal } from './seal.ts';
import type { Table } from './state-puts.ts';
import { binary, formatKey, markKey, tables } from './tables.ts';

export interface WalkedEntry {
  readonly table: Table;
  readonly key: Buffer;
  /** Without its seal; undefined where it is damaged. */
  readonly value: Uint8Array | undefined;
}

export interface Walk {
  /** What is wrong with the whole, the first of it; undefined while nothing was found. */
  fault: string | undefined;
}

/**
 * Follows every entry of a state store: names, order of keys, checksums, and how many there are. Damaged pages may end the process in native code, so it is
 * run in one of its own. `most`: entries looked at per table.
 */
export function* walkState(
  env: RootDatabase<Buffer, Buffer>,
  walk: Walk,
  most: number = Number.POSITIVE_INFINITY,
): Generator<WalkedEntry> {
  const note = (fault: string): void => {
    walk.fault ??= fault;
  };
  const known = new Set([String(formatKey), String(markKey), ...tables]);
  // The library ends the name of a table with a zero byte.
  const names = new Set(
    Array.from(env.getKeys(), (name) => Buffer.from(name).toString('latin1').replace(/\0$/, '')),
  );
  if (names.size > 0 && !names.has(String(formatKey))) note('it has no format record');
  for (const name of names) if (!known.has(name)) note('it holds a name that is none of ours');
  const mark = env.get(markKey);
  if (mark !== undefined && 'fault' in unseal(markKey, mark)) note('its guard mark is damaged');
  for (const table of tables.filter((name) => names.has(name))) {
    const database = env.openDB<Buffer, Buffer>({ name: table, ...binary });
    let count = 0;
    let before: Buffer | undefined;
    for (const entry of database.getRange({ limit: most })) {
      const key = Buffer.from(entry.key);
      count += 1;
      if (before !== undefined && Buffer.compare(before, key) >= 0)
        note(`${table} is out of order`);
      before = key;
      const unsealed = unseal(key, Buffer.from(entry.value));
      if ('fault' in unsealed) note(`an entry of ${table}: ${unsealed.fault}`);
      yield { table, key, value: 'fault' in unsealed ? undefined : unsealed.value };
    }
    const { entryCount } = database.getStats() as { readonly entryCount: number };
    if (count < most && count !== entryCount)
      note(`${table} holds ${count} entries in place of ${entryCount}`);
  }
}
