import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { isMillraceError, systemClock, type Disposition } from '#base';
import type { AppendInput, AppendOutcome, Batch, BatchItem, DeadLetterInput } from '#queue';
import { emptyCursor, type Cursor, type Key, type Position } from '#record';
import { testKey, testRecord, type Queue } from '../../support/queue-fixtures.ts';
import { turn } from '../../support/turn.ts';
import type { QueueHarness } from './harness.ts';

/** Steps and statements that the checks share. Those that state something have a test of their own that they fail when they should. */

export const everything: { readonly records: number; readonly bytes: number } = {
  records: 100_000,
  bytes: 2 ** 30,
};

/** The cursor of a fold that has seen `count` events. */
export function cursorAt(count: number): Cursor {
  return { ...emptyCursor(), layer1: { event_seq: count, last_updated: null } };
}

export function numbered(session: string, from: number, count: number): AppendInput[] {
  return Array.from({ length: count }, (_, at) => testRecord({ session, data: { n: from + at } }));
}

/** The value at an index that must be there. */
export function item<T>(values: readonly T[], at = 0): T {
  const value = values.at(at);
  ok(value !== undefined, `there is no entry ${at} among ${values.length}`);
  return value;
}

export function positionIn(outcome: AppendOutcome | undefined): Position {
  ok(outcome !== undefined && 'position' in outcome, `${JSON.stringify(outcome)} has a position`);
  return outcome.position;
}

export async function append(
  queue: Queue,
  ...records: AppendInput[]
): Promise<readonly Position[]> {
  const outcomes = await queue.append(records);
  deepStrictEqual(
    outcomes.map(({ status }) => status),
    records.map(() => 'queued'),
  );
  return outcomes.map(positionIn);
}

export async function statuses(
  queue: Queue,
  records: readonly AppendInput[],
  options: { readonly atomic?: boolean } = {},
): Promise<readonly string[]> {
  const outcomes = await queue.append(records, options);
  return outcomes.map(({ status }) => status);
}

const healTriesMax = 10_000;

/** Appends again and again while the queue heals from a fault, by its own clock. */
export async function appendWhenWell(
  queue: Queue,
  records: readonly AppendInput[],
): Promise<readonly AppendOutcome[]> {
  for (let tries = 0; tries < healTriesMax; tries += 1) {
    try {
      return await queue.append(records);
    } catch (error) {
      ok(isMillraceError(error) && error.disposition === 'retry', `${String(error)} may pass`);
      await systemClock.sleep(1);
    }
  }
  throw new Error('the queue never healed');
}

export function readAll(queue: Queue, session = 's'): Promise<Batch> {
  return queue.readBatch(testKey(session), everything);
}

/** The numbers of the records that wait, in log order. */
export async function pendingNumbers(queue: Queue, session = 's'): Promise<readonly number[]> {
  return numbersIn(await readAll(queue, session));
}

export function numbersIn(batch: Batch): readonly number[] {
  return batch.items.map(({ raw }) => {
    const line = JSON.parse(Buffer.from(raw).toString('utf8')) as { data: { n: number } };
    return line.data.n;
  });
}

/** Commits the first `count` records that wait, all where it is not given; returns the last of them. */
export async function drain(queue: Queue, session = 's', count?: number): Promise<BatchItem> {
  const batch = await readAll(queue, session);
  const last = item(batch.items, (count ?? batch.items.length) - 1);
  const status = await queue.keyStatus(batch.key);
  const seen = (status?.applied ?? 0) + (count ?? batch.items.length);
  await queue.commit(batch.key, last.after, cursorAt(seen), null);
  return last;
}

export function letterFor(one: BatchItem, code = 'EVENT_CONTRADICTS'): DeadLetterInput {
  return { at: one.at, raw: one.raw, attempts: 3, error: { code, message: 'it says no' } };
}

/** Makes the first record that waits a dead letter and returns its id. */
export async function kill(queue: Queue, session = 's'): Promise<string> {
  const key = testKey(session);
  const one = item((await readAll(queue, session)).items);
  await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
  return item(await queue.readDeadLetters(key), -1).id;
}

/** A discard leaves position and cursor as they are. */
export async function discard(queue: Queue, id: string, session = 's'): Promise<void> {
  const key = testKey(session);
  const { committed } = await statusOf(queue, key);
  const cursor = (await queue.readCursor(key)) ?? emptyCursor();
  await queue.deadLetter(key, [{ discarded: id, by: 'operator' }], committed, cursor);
}

export async function statusOf(queue: Queue, key: Key): ReturnType<typeof knownStatus> {
  return knownStatus(queue, key);
}

async function knownStatus(
  queue: Queue,
  key: Key,
): Promise<NonNullable<Awaited<ReturnType<Queue['keyStatus']>>>> {
  const status = await queue.keyStatus(key);
  ok(status !== undefined, `${key} is known`);
  return status;
}

export async function assertCode(
  promise: Promise<unknown>,
  code: string,
  disposition: Disposition,
): Promise<void> {
  await rejects(promise, (error: unknown) => {
    ok(isMillraceError(error), `${String(error)} is a MillraceError`);
    strictEqual(error.code, code);
    strictEqual(error.disposition, disposition);
    return true;
  });
}

export async function assertRejects(promise: Promise<unknown>, ...codes: string[]): Promise<void> {
  await rejects(promise, (error: unknown) => {
    ok(isMillraceError(error), `${String(error)} is a MillraceError`);
    ok(codes.includes(error.code), `${error.code} is one of ${codes.join(', ')}`);
    return true;
  });
}

/** Each record begins where the one before it ended, and positions rise (P2). */
export function assertChained(batch: Batch): void {
  let before: Position = batch.start;
  for (const { at, after } of batch.items) {
    strictEqual(at, before, 'a record begins where the one before it ended');
    ok(after > at, `${after} comes after ${at}`);
    before = after;
  }
}

export interface Balance {
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: number;
}

/** Every accepted record is in exactly one place (P4). */
export function assertBalanced({ accepted, applied, pending, dead, discarded }: Balance): void {
  const parts = { accepted, applied, pending, dead, discarded };
  ok(
    Object.values(parts).every((count) => count >= 0),
    `no count is negative: ${JSON.stringify(parts)}`,
  );
  strictEqual(accepted, applied + pending + dead + discarded, JSON.stringify(parts));
}

/** The books balance per key and in all, and the root's are the sum of the keys'. */
export async function assertBooks(queue: Queue, expected?: Partial<Balance>): Promise<void> {
  const totals = queue.totals();
  assertBalanced(totals);
  const keys = await queue.listKeys({ limit: 10_000 });
  const sum = { accepted: 0, applied: 0, pending: 0, dead: 0, discarded: 0, duplicates: 0 };
  for (const status of keys) {
    assertBalanced(status);
    for (const member of Object.keys(sum) as (keyof typeof sum)[]) sum[member] += status[member];
  }
  const all = Object.fromEntries(
    (Object.keys(sum) as (keyof typeof sum)[]).map((member) => [member, totals[member]]),
  );
  deepStrictEqual(all, sum, 'the root counts what its keys count');
  for (const [member, count] of Object.entries(expected ?? {}))
    strictEqual(totals[member as keyof Balance], count, member);
}

/** Opens, and gives the check the abilities that it asked for. */
export function faultsOf(harness: QueueHarness): NonNullable<QueueHarness['faults']> {
  ok(harness.faults !== undefined, 'the check needs faults');
  return harness.faults;
}

export async function afterCrash(harness: QueueHarness): Promise<Queue> {
  ok(harness.crash !== undefined, 'the check needs crashes');
  return harness.crash();
}

/** True when the promise is still open after the event loop has turned often enough for anything that does not wait for a disk. */
export async function isPending(promise: Promise<unknown>, turns = 50): Promise<boolean> {
  let hasSettled = false;
  const note = (): void => {
    hasSettled = true;
  };
  promise.then(note, note);
  for (let at = 0; at < turns; at += 1) await turn();
  return !hasSettled;
}
