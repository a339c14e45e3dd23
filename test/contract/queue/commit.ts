import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { emptyCursor, formatPosition, parsePosition, type Cursor, type Position } from '#record';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  appendWhenWell,
  assertBooks,
  assertCode,
  assertRejects,
  cursorAt,
  drain,
  faultsOf,
  item,
  numbered,
  pendingNumbers,
  readAll,
  statusOf,
} from './steps.ts';

const key = testKey();

/** A position that no reader was given: another offset or epoch. */
function elsewhere(position: Position, change: { offset?: number; epoch?: string }): Position {
  const parts = parsePosition(position);
  ok(parts !== undefined, 'the check knows the form of positions');
  return formatPosition({ ...parts, ...change });
}

export const commitChecks: readonly QueueCheck[] = [
  {
    name: 'moves offset and cursor together (P3, ING-104, ING-105)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 3));
      const before = await queue.readCursor(key);
      if (before !== null) deepStrictEqual(before, emptyCursor());
      const cursor: Cursor = { ...cursorAt(2), future_member: { kept: [1, { deep: true }] } };
      const { after } = item((await readAll(queue)).items, 1);
      await queue.commit(key, after, cursor, null);
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        deepStrictEqual(await queue.readCursor(key), cursor);
        strictEqual((await statusOf(queue, key)).committed, after);
        deepStrictEqual(await pendingNumbers(queue), [2]);
      }
    },
  },
  {
    name: 'refuses a commit without a cursor, with dead letters or without (CURSOR_REQUIRED, ING-104)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const { after } = item((await readAll(queue)).items);
      for (const none of [undefined, null] as unknown as readonly Cursor[]) {
        await assertCode(queue.commit(key, after, none, null), 'CURSOR_REQUIRED', 'reject');
        await assertCode(queue.deadLetter(key, [], after, none), 'CURSOR_REQUIRED', 'reject');
      }
      deepStrictEqual(await pendingNumbers(queue), [0]);
    },
  },
  {
    name: 'never goes back, and never into another epoch (P3, ING-210)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 4));
      const { items, start } = await readAll(queue);
      await drain(queue, 's', 3);
      for (const position of [start, item(items).after, item(items, 1).after])
        await assertCode(
          queue.commit(key, position, cursorAt(9), null),
          'POSITION_REGRESSION',
          'retry',
        );
      const foreign = elsewhere(item(items, 3).after, { epoch: 'another-epoch' });
      await assertCode(queue.commit(key, foreign, cursorAt(4), null), 'EPOCH_MISMATCH', 'retry');
      deepStrictEqual(await queue.readCursor(key), cursorAt(3));
      deepStrictEqual(await pendingNumbers(queue), [3]);
    },
  },
  {
    name: 'takes the same commit again as done, and refuses another cursor for the same position (ING-210)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const { after } = await drain(queue, 's', 1);
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        await queue.commit(key, after, cursorAt(1), null);
        await assertCode(queue.commit(key, after, cursorAt(2), null), 'COMMIT_CONFLICT', 'retry');
        for (const letters of [[], [{ discarded: `${key}:e.0`, by: 'op' }]])
          await assertCode(
            queue.deadLetter(key, letters, after, cursorAt(2)),
            'COMMIT_CONFLICT',
            'retry',
          );
        await queue.deadLetter(key, [], after, cursorAt(1));
        deepStrictEqual(await queue.readCursor(key), cursorAt(1));
      }
      await assertBooks(queue, { accepted: 2, applied: 1, pending: 1 });
    },
  },
  {
    name: 'refuses a position that is the end of no durable record, and changes nothing (P3)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const { items } = await readAll(queue);
      const { offset = 0 } = parsePosition(item(items).after) ?? {};
      for (const wrong of [offset - 1, offset + 1, offset * 10])
        await rejects(
          queue.commit(key, elsewhere(item(items).after, { offset: wrong }), cursorAt(1), null),
        );
      deepStrictEqual(await pendingNumbers(queue), [0, 1]);
      await assertBooks(queue, { accepted: 2, pending: 2 });
    },
  },
  {
    name: 'refuses a cursor above its limit, keeps the old one, and lets other keys go on (CURSOR_TOO_LARGE, P9)',
    async run(harness) {
      const queue = await harness.open({ cursorBytesMax: 4096 });
      await append(queue, ...numbered('s', 0, 2), ...numbered('t', 0, 1));
      await drain(queue, 's', 1);
      const { after } = item((await readAll(queue)).items);
      const large: Cursor = { ...cursorAt(2), pad: 'x'.repeat(5000) };
      await assertCode(queue.commit(key, after, large, null), 'CURSOR_TOO_LARGE', 'corrupt');
      deepStrictEqual(await queue.readCursor(key), cursorAt(1));
      strictEqual((await statusOf(queue, key)).pending, 1);
      await drain(queue, 't');
      await assertBooks(queue, { accepted: 3, applied: 2, pending: 1 });
    },
  },
  {
    name: 'keeps the name of the record that the graph holds, through commits that name none (ING-541)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 3));
      strictEqual((await statusOf(queue, key)).appliedMark, null);
      const { items } = await readAll(queue);
      const [a, b, c] = [item(items), item(items, 1), item(items, 2)];
      const mark = { position: a.after, sha256: 'ab'.repeat(32) };
      await queue.commit(key, a.after, cursorAt(1), mark);
      deepStrictEqual((await statusOf(queue, key)).appliedMark, mark);
      await queue.deadLetter(
        key,
        [{ at: b.at, raw: b.raw, attempts: 1, error: { code: 'X', message: 'x' } }],
        b.after,
        cursorAt(1),
      );
      queue = await harness.reopen();
      deepStrictEqual((await statusOf(queue, key)).appliedMark, mark);
      const next = { position: c.after, sha256: 'cd'.repeat(32) };
      await queue.commit(key, c.after, cursorAt(2), next);
      deepStrictEqual((await statusOf(queue, key)).appliedMark, next);
    },
  },
  {
    name: 'leaves offset and cursor as they were when the sync of a commit fails (P3)',
    needs: ['faults'],
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const { after } = await drain(queue, 's', 1);
      const last = item((await readAll(queue)).items).after;
      faultsOf(harness).failSyncs(1);
      await assertCode(queue.commit(key, last, cursorAt(2), null), 'QUEUE_WRITE_FAILED', 'retry');
      deepStrictEqual(await queue.readCursor(key), cursorAt(1));
      strictEqual((await statusOf(queue, key)).committed, after);
      await appendWhenWell(queue, [testRecord({ session: 't' })]);
      await assertBooks(queue, { accepted: 3, applied: 1, pending: 2 });
      await queue.commit(key, last, cursorAt(2), null);
      queue = await harness.reopen();
      deepStrictEqual(await queue.readCursor(key), cursorAt(2));
      await assertBooks(queue, { accepted: 3, applied: 2, pending: 1 });
    },
  },
  {
    name: 'never lets a commit undo a later one that was handed over beside it (P3)',
    async run(harness) {
      const queue = await harness.open();
      for (let round = 0; round < 30; round += 1) {
        await append(queue, ...numbered('s', round * 2, 2));
        const { items } = await readAll(queue);
        const [a, b] = [item(items), item(items, 1)];
        const seen = round * 2;
        const both = await Promise.allSettled([
          queue.commit(key, a.after, cursorAt(seen + 1), null),
          queue.commit(key, b.after, cursorAt(seen + 2), null),
          queue.append(numbered('t', round, 1)),
        ]);
        deepStrictEqual(
          both.map(({ status }) => status),
          Array(3).fill('fulfilled'),
        );
        deepStrictEqual(await queue.readCursor(key), cursorAt(seen + 2));
        const late = queue.commit(key, a.after, cursorAt(seen + 1), null);
        await assertRejects(late, 'POSITION_REGRESSION');
      }
      deepStrictEqual(await pendingNumbers(queue), []);
    },
  },
];
