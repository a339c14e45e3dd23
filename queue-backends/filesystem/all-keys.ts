import { join } from 'node:path';
import { type Key, parseKey } from '#record';
import type { KeyRow } from '#state';
import type { Engine } from './engine.ts';

/** Rows read at once. */
const rowsPerRead = 1000;

/** Names of all session folders, in no order. */
export async function keysOnDisk(engine: Engine): Promise<readonly Key[]> {
  return Array.fromAsync(eachKeyOnDisk(engine));
}

/** The same one after another: no more than one shard's names are held, however many sessions there are. */
export async function* eachKeyOnDisk({
  options: { disk, directory },
}: Pick<Engine, 'options'>): AsyncGenerator<Key> {
  const sessions = join(directory, 'sessions');
  for (const shard of await disk.readDirectory(sessions)) {
    if (shard.kind !== 'directory') continue;
    for (const { name } of await disk.readDirectory(join(sessions, shard.name))) {
      const key = parseKey(name);
      if (key !== undefined) yield key;
    }
  }
}

/** Rows of all keys, in key order: those whose epoch is over have nothing else. */
export function* allRows(engine: Engine): Generator<{ readonly key: Key; readonly row: KeyRow }> {
  let after: Key | undefined;
  for (;;) {
    const keys = engine.options.state.rowKeys({ after, limit: rowsPerRead });
    for (const key of keys) {
      const row = engine.options.state.getRow(key);
      if (row !== undefined) yield { key, row };
    }
    if (keys.length < rowsPerRead) return;
    after = keys.at(-1);
  }
}
