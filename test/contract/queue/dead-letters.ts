import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { sha256Hex } from '#base';
import { emptyCursor } from '#record';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  appendWhenWell,
  assertBooks,
  assertCode,
  assertRejects,
  cursorAt,
  discard,
  drain,
  faultsOf,
  item,
  kill,
  letterFor,
  numbered,
  pendingNumbers,
  positionIn,
  readAll,
  statuses,
} from './steps.ts';

const key = testKey();

export const deadLetterChecks: readonly QueueCheck[] = [
  {
    name: 'keeps a dead record whole, with its place and reason, and passes it in the same step (D5, ING-701, P3)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, testRecord({ eventId: 'e', data: { n: 0 } }), ...numbered('s', 1, 1));
      const one = item((await readAll(queue)).items);
      await queue.deadLetter(key, [letterFor(one, 'MUTATION_REFUSED')], one.after, cursorAt(0));
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const letters = await queue.readDeadLetters(key);
        strictEqual(letters.length, 1);
        const letter = item(letters);
        deepStrictEqual(Buffer.from(letter.payload), Buffer.from(one.raw));
        const { at, after, attempts, error, eventId, sha256, isRetired, outcome } = letter;
        deepStrictEqual(
          { at, after, attempts, error, eventId, sha256, isRetired, outcome },
          {
            at: one.at,
            after: one.after,
            attempts: 3,
            error: { code: 'MUTATION_REFUSED', message: 'it says no' },
            eventId: 'e',
            sha256: sha256Hex(one.raw),
            isRetired: false,
            outcome: { kind: 'live' },
          },
        );
        ok(letter.id.startsWith(`${key}:${letter.epoch}.`), letter.id);
        ok(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(letter.ts), letter.ts);
        deepStrictEqual(await pendingNumbers(queue), [1]);
        await assertBooks(queue, { accepted: 2, pending: 1, dead: 1 });
      }
    },
  },
  {
    name: 'keeps bytes of a dead record that are no text (ING-414, P7)',
    async run(harness) {
      let queue = await harness.open();
      const raw = Buffer.from([0x7b, 0x22, 0xff, 0x00, 0xfe, 0x22, 0x7d]);
      await append(queue, { ...testRecord(), raw });
      await kill(queue);
      queue = await harness.reopen();
      deepStrictEqual(Buffer.from(item(await queue.readDeadLetters(key)).payload), raw);
    },
  },
  {
    name: 'counts what it passes beside the dead as applied (ING-717, P4)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 5));
      const { items } = await readAll(queue);
      const dead = [letterFor(item(items, 1)), letterFor(item(items, 3))];
      await queue.deadLetter(key, dead, item(items, 3).after, cursorAt(2));
      await assertBooks(queue, { accepted: 5, applied: 2, dead: 2, pending: 1 });
      deepStrictEqual(
        (await queue.readDeadLetters(key)).map(({ at }) => at),
        [item(items, 1).at, item(items, 3).at],
      );
    },
  },
  {
    name: 'adds nothing for a position that is dead already (ING-718)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const one = item((await readAll(queue)).items);
      await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
        strictEqual((await queue.readDeadLetters(key)).length, 1);
        await assertBooks(queue, { accepted: 1, dead: 1 });
      }
    },
  },
  {
    name: 'discards by name and once, with position and cursor as they are (ING-713, D22)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const id = await kill(queue);
      const unknown = `${key}:none.0`;
      await assertCode(discard(queue, unknown), 'DEAD_LETTER_STATE', 'reject');
      await discard(queue, id);
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const { outcome } = item(await queue.readDeadLetters(key));
        strictEqual(outcome.kind, 'discarded');
        strictEqual(outcome.by, 'operator');
        await assertCode(discard(queue, id), 'DEAD_LETTER_STATE', 'reject');
        deepStrictEqual(await pendingNumbers(queue), [1]);
        await assertBooks(queue, { accepted: 2, pending: 1, dead: 0, discarded: 1 });
      }
    },
  },
  {
    name: 'requeues in one step: the new record and the outcome of the letter, once only (ING-714)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const id = await kill(queue);
      const requeue = testRecord({ data: { n: 0 }, eventId: 'requeue:e.0', settles: id });
      const [outcome] = await queue.append([requeue]);
      strictEqual(outcome?.status, 'queued');
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const letter = item(await queue.readDeadLetters(key));
        strictEqual(letter.outcome.kind, 'requeued');
        strictEqual(letter.outcome.position, positionIn(outcome));
        await assertCode(queue.append([requeue]), 'DEAD_LETTER_STATE', 'reject');
        deepStrictEqual(await pendingNumbers(queue), [1, 0]);
        await assertBooks(queue, { accepted: 2, pending: 2, dead: 0 });
      }
      await drain(queue);
      await assertBooks(queue, { accepted: 2, applied: 2 });
    },
  },
  {
    name: 'refuses to requeue what is no dead letter of the key, or was discarded, and stores nothing (ING-714)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1), ...numbered('t', 0, 1));
      const id = await kill(queue);
      for (const wrong of [`${key}:none.0`, ''])
        await assertCode(
          queue.append([testRecord({ settles: wrong })]),
          'DEAD_LETTER_STATE',
          'reject',
        );
      await assertCode(
        queue.append([testRecord({ session: 't', settles: id })]),
        'DEAD_LETTER_STATE',
        'reject',
      );
      await discard(queue, id);
      await assertCode(queue.append([testRecord({ settles: id })]), 'DEAD_LETTER_STATE', 'reject');
      await assertBooks(queue, { accepted: 2, pending: 1, discarded: 1 });
    },
  },
  {
    name: 'lets one of two requeues of a letter win, whatever their ids (ING-714)',
    async run(harness) {
      const queue = await harness.open();
      for (let round = 0; round < 10; round += 1) {
        await append(queue, ...numbered('s', round, 1));
        const id = await kill(queue);
        const settled = await Promise.allSettled([
          queue.append([testRecord({ settles: id, eventId: `a${round}`, data: { n: round } })]),
          queue.append([testRecord({ settles: id, eventId: `b${round}`, data: { n: round } })]),
          discard(queue, id),
        ]);
        strictEqual(settled.filter(({ status }) => status === 'fulfilled').length, 1);
        if ((await readAll(queue)).items.length > 0) await drain(queue);
        await assertBooks(queue, { accepted: round + 1, pending: 0, dead: 0 });
      }
    },
  },
  {
    name: 'does not take an event anew whose letter was requeued with another payload (ING-515, P5)',
    async run(harness) {
      let queue = await harness.open();
      const original = testRecord({ eventId: 'e', data: { n: 0 } });
      await append(queue, original);
      const id = await kill(queue);
      await append(queue, testRecord({ eventId: 'requeue:x', data: { n: 1 }, settles: id }));
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const [status] = await statuses(queue, [original]);
        ok(status === 'duplicate' || status === 'conflict', `${status}`);
        await assertBooks(queue, { accepted: 1, pending: 1, dead: 0 });
      }
    },
  },
  {
    name: 'takes a requeued record that dies again as a new letter (ING-714)',
    async run(harness) {
      const queue = await harness.open();
      const record = testRecord({ eventId: 'e', data: { n: 0 } });
      await append(queue, record);
      const first = await kill(queue);
      await append(queue, { ...record, settles: first });
      const second = await kill(queue);
      ok(second !== first, 'another place, another letter');
      const kinds = (await queue.readDeadLetters(key)).map(({ outcome }) => outcome.kind);
      deepStrictEqual(kinds, ['requeued', 'live']);
      await assertBooks(queue, { accepted: 1, dead: 1, pending: 0 });
      deepStrictEqual(await statuses(queue, [record]), ['queued']);
      await assertBooks(queue, { accepted: 1, dead: 0, pending: 1 });
    },
  },
  {
    name: 'writes neither letter nor commit when the sync fails (D5, P3)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const one = item((await readAll(queue)).items);
      faultsOf(harness).failSyncs(1);
      const failed = queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      await assertCode(failed, 'QUEUE_WRITE_FAILED', 'retry');
      deepStrictEqual(await queue.readDeadLetters(key), []);
      deepStrictEqual(await pendingNumbers(queue), [0]);
      await appendWhenWell(queue, [testRecord({ session: 't' })]);
      await assertBooks(queue, { accepted: 2, pending: 2, dead: 0 });
      await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      strictEqual((await queue.readDeadLetters(key)).length, 1);
    },
  },
  {
    name: 'checks the position of a letter’s commit as that of any other (ING-104, ING-210)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2));
      const { items } = await readAll(queue);
      await drain(queue);
      const late = queue.deadLetter(
        key,
        [letterFor(item(items))],
        item(items).after,
        emptyCursor(),
      );
      await assertRejects(late, 'POSITION_REGRESSION');
      deepStrictEqual(await queue.readDeadLetters(key), []);
    },
  },
];
