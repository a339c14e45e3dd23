import { canonicalJson, crc32cHex, type JsonValue } from '#base';
import type { ClearHelp, ClearMode, ClearReport } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { emptyCursor, parseLine, type Cursor, type Key } from '#record';
import { expect } from 'vitest';
import { append, numbered, statusOf } from '../../contract/queue/steps.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { folderOf, type Place } from './place.ts';

/** The key that is damaged, and the files of it. */
export const key: Key = testKey();
export const folder: string = folderOf();
export const offsetPath: string = `${folder}/offset.json`;
export const logPath: string = `${folder}/log.000000.jsonl`;
export const generationPath: string = `${folder}/generation.000000.json`;
export const marker: RegExp = /^quarantine\.json$/;

/** A fold that remembers what it has seen: which records, in which order, shows in the cursor. */
export const help: ClearHelp = {
  graphRow: null,
  fold(folded, cursor, raw) {
    const n = parseLine(raw, folded).record?.data['n'];
    return cursorAfter(cursor, Number(n));
  },
};

function cursorAfter(cursor: Cursor, n: number): Cursor {
  const { layer1, layer2 } = cursor;
  return {
    ...cursor,
    layer1: { ...layer1, event_seq: layer1.event_seq + 1 },
    layer2: { ...layer2, open_runs: [...layer2.open_runs, `r${n}`] },
  };
}

export function cursorOf(...seen: readonly number[]): Cursor {
  return seen.reduce(cursorAfter, emptyCursor());
}

/** Applies the next records as a drain would, with the cursor of the fold. */
export async function apply(queue: FilesystemQueue, count: number, session = 's'): Promise<void> {
  const batch = await queue.readBatch(testKey(session), { records: count, bytes: 1e6 });
  let cursor = (await queue.readCursor(batch.key)) ?? emptyCursor();
  for (const { raw } of batch.items) cursor = help.fold(batch.key, cursor, raw);
  const last = batch.items.at(-1);
  if (last === undefined) throw new Error('nothing waits');
  await queue.commit(batch.key, last.after, cursor, null);
}

export async function seen(queue: FilesystemQueue): Promise<readonly string[]> {
  return (await queue.readCursor(key))?.layer2.open_runs ?? [];
}

/** Six records: two applied, one dead, three that wait; all in the session files. */
export async function settled(place: Place): Promise<void> {
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 6), ...numbered('t', 0, 2));
  await apply(queue, 2);
  const { items } = await queue.readBatch(key, { records: 1, bytes: 1e6 });
  const [one] = items;
  if (one === undefined) throw new Error('a record waits');
  const error = { code: 'EVENT_CONTRADICTS', message: 'no' };
  const letter = { at: one.at, raw: one.raw, attempts: 3, error };
  await queue.deadLetter(key, [letter], one.after, cursorOf(0, 1));
  await queue.close();
}

let operations = 0;

export function clear(
  queue: FilesystemQueue,
  mode: ClearMode,
  more: { readonly file?: string; readonly operationId?: string } = {},
): Promise<ClearReport> {
  operations += 1;
  return queue.clearQuarantine(
    key,
    { mode, by: 'operator', operationId: `op-${operations}`, ...more },
    help,
  );
}

/** Opens, and reads until the damage is met. */
export async function stopped(place: Place, code: string): Promise<FilesystemQueue> {
  const queue = await place.open();
  for (let turns = 0; turns < 10; turns += 1) {
    const batch = await queue.readBatch(key, { records: 10, bytes: 1e6 }).catch(() => undefined);
    if (batch === undefined) break;
    await apply(queue, batch.items.length);
  }
  expect((await statusOf(queue, key)).quarantine?.code).toBe(code);
  return queue;
}

/** The same is true after the daemon was closed, and after it was killed. */
export async function everAfter(
  place: Place,
  queue: FilesystemQueue,
  check: (queue: FilesystemQueue) => Promise<void>,
): Promise<void> {
  await check(queue);
  await place.kill();
  const killed = await place.open();
  await check(killed);
  await killed.close();
  const reopened = await place.open();
  await check(reopened);
}

export function recordWith(bytes: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const { crc: _, ...record } = JSON.parse(bytes.toString('utf8')) as Record<string, JsonValue>;
  const changed = { ...record, ...members } as JsonValue;
  const crc = crc32cHex(Buffer.from(canonicalJson(changed)));
  return Buffer.from(JSON.stringify({ ...(changed as object), crc }));
}
