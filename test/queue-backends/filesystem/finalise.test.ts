import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Cursor } from '#record';
import {
  append,
  assertBooks,
  assertCode,
  cursorAt,
  discard,
  drain,
  item,
  kill,
  numbered,
  pendingNumbers,
  positionIn,
  readAll,
  statusOf,
} from '../../contract/queue/steps.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { folderOf, namesIn, withPlace } from './place.ts';

const key = testKey();
const folder = folderOf();

function endAt(count: number): Cursor {
  return { ...cursorAt(count), terminal_seen: true };
}

/** Applies all that waits, and says that the session has ended. */
async function end(queue: FilesystemQueue, count: number): Promise<void> {
  const { items } = await readAll(queue);
  const last = item(items, -1);
  await queue.commit(key, last.after, endAt(count), {
    position: last.after,
    sha256: 'ab'.repeat(32),
  });
}

describe('a finalise', () => {
  it('takes the files and keeps cursor, position and books (ING-802, ING-610, P4)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await append(queue, ...numbered('s', 0, 3));
      await end(queue, 3);
      await queue.checkpoint();
      const before = await statusOf(queue, key);
      expect(await queue.lifeCycle.finalize(key)).toBe('done');
      expect(await namesIn(place.disk, folder, /./)).toEqual([]);
      for (const restart of [false, true]) {
        if (restart) {
          await queue.close();
          queue = await place.open();
        }
        expect(await statusOf(queue, key)).toEqual({ ...before, isFinalised: true });
        expect(await queue.readCursor(key)).toEqual(endAt(3));
        expect((await readAll(queue)).items).toEqual([]);
        expect(await queue.activeKeys()).toEqual([]);
        expect(await queue.lifeCycle.finalize(key)).toBe('done');
        expect(await queue.lifeCycle.isFullyDrained(key)).toBe(true);
        expect(await queue.digestEndingAt(key, before.committed)).toBe('ab'.repeat(32));
        await assertBooks(queue, { accepted: 3, applied: 3 });
        expect((await queue.listKeys({ limit: 9, session: 's' })).length).toBe(1);
      }
    }));

  it('of a session that never had a folder needs none', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      await end(queue, 2);
      await queue.lifeCycle.finalize(key);
      await place.clock.advance(1000);
      await queue.checkpoint();
      expect(await namesIn(place.disk, folder, /./)).toEqual([]);
      await assertBooks(queue, { accepted: 2, applied: 2 });
    }));

  it('is given up for a record that came late, and draining goes on (ING-803)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await end(queue, 1);
      await append(queue, ...numbered('s', 1, 1));
      expect(await queue.lifeCycle.isFullyDrained(key)).toBe(false);
      expect(await queue.lifeCycle.finalize(key)).toBe('late-lines');
      expect(await pendingNumbers(queue)).toEqual([1]);
      expect((await statusOf(queue, key)).ordinal).toBe(0);
    }));

  it('is refused for a key that is stopped (ING-410)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await end(queue, 1);
      await queue.quarantine(key, { code: 'CURSOR_CORRUPT', message: 'it says so' });
      expect(await queue.lifeCycle.finalize(key)).toBe('refused');
      expect((await statusOf(queue, key)).quarantine?.code).toBe('CURSOR_CORRUPT');
    }));

  it('is due for a drained key whose end was seen, also after a restart (ING-807, C28)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 1));
      await end(first, 1);
      expect(await first.activeKeys()).toEqual([key]);
      await first.close();
      const again = await place.open();
      expect(await again.activeKeys()).toEqual([key]);
      await again.lifeCycle.finalize(key);
      expect(await again.activeKeys()).toEqual([]);
    }));
});

describe('the next epoch', () => {
  it('goes on with the cursor, the books and the owner that the session had (ING-805, ING-610, D27)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const [first] = await append(queue, ...numbered('s', 0, 2));
      await end(queue, 2);
      await queue.lifeCycle.finalize(key);
      const ended = await statusOf(queue, key);
      const [late] = await append(queue, ...numbered('s', 2, 1));
      expect(late !== undefined && first !== undefined && late > first).toBe(true);
      for (const restart of [false, true]) {
        if (restart) {
          await queue.close();
          queue = await place.open();
        }
        const status = await statusOf(queue, key);
        expect(status).toMatchObject({
          ordinal: 1,
          owner: ended.owner,
          accepted: 3,
          isFinalised: false,
          appliedMark: ended.appliedMark,
        });
        expect(status.epoch).not.toBe(ended.epoch);
        expect(await queue.readCursor(key)).toEqual(endAt(2));
        expect(await pendingNumbers(queue)).toEqual([2]);
      }
      const foreign = await queue.append([testRecord({ principal: 'somebody else' })]);
      expect(foreign[0]?.status).toBe('foreign');
      await drain(queue);
      await assertBooks(queue, { accepted: 3, applied: 3 });
    }));

  it('knows the ids of the one before, with the place where they stood (ING-512, ING-517)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const one = testRecord({ eventId: 'e1', data: { n: 1 } });
      const [position] = await append(queue, one);
      const { epoch } = await statusOf(queue, key);
      await end(queue, 1);
      await queue.lifeCycle.finalize(key);
      for (const step of ['finalised', 'restarted', 'open again']) {
        if (step === 'restarted') {
          await queue.close();
          queue = await place.open();
        }
        if (step === 'open again') await append(queue, ...numbered('s', 5, 1));
        const other = testRecord({ eventId: 'e1', data: { n: 9 } });
        const outcomes = await queue.append([one, other]);
        expect(outcomes, step).toMatchObject([
          { status: 'duplicate', position, epoch },
          { status: 'conflict', position },
        ]);
      }
      await assertBooks(queue, { accepted: 2 });
      await queue.checkpoint();
      expect((await statusOf(queue, key)).duplicates).toBe(3);
    }));

  it('is opened by duplicates alone when they are counted, and ends again (ING-717)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const one = testRecord({ eventId: 'e1', data: { n: 1 } });
      await append(queue, one);
      await end(queue, 1);
      await queue.lifeCycle.finalize(key);
      await queue.append([one]);
      await queue.checkpoint();
      await place.kill();
      queue = await place.open();
      expect(await statusOf(queue, key)).toMatchObject({
        ordinal: 1,
        duplicates: 1,
        accepted: 1,
        pending: 0,
      });
      expect(await queue.activeKeys()).toEqual([key]);
      await queue.lifeCycle.finalize(key);
      expect(await statusOf(queue, key)).toMatchObject({
        isFinalised: true,
        duplicates: 1,
        accepted: 1,
      });
      await assertBooks(queue, { accepted: 1, applied: 1 });
    }));
});

describe('letters of an epoch that is over', () => {
  async function finalisedWithLetter(queue: FilesystemQueue): Promise<string> {
    await append(queue, testRecord({ eventId: 'e0', data: { n: 0 } }), ...numbered('s', 1, 1));
    const letter = await kill(queue);
    await end(queue, 1);
    await queue.lifeCycle.finalize(key);
    return letter;
  }

  it('stay readable, tagged, in a file of their epoch (ING-710, ING-711)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const letter = await finalisedWithLetter(queue);
      const { epoch } = await statusOf(queue, key);
      expect(await namesIn(place.disk, folder, /./)).toEqual([`dead.${epoch}.jsonl`]);
      await append(queue, ...numbered('s', 2, 2));
      const second = await kill(queue);
      for (const restart of [false, true]) {
        if (restart) {
          await queue.close();
          queue = await place.open();
        }
        const letters = await queue.readDeadLetters(key);
        expect(letters.map(({ id, isRetired }) => [id, isRetired])).toEqual([
          [letter, true],
          [second, false],
        ]);
        await assertBooks(queue, { accepted: 4, applied: 1, dead: 2, pending: 1 });
      }
    }));

  it('never make a new record pass that equals a dead one (ING-T07, ING-710)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await kill(queue);
      await append(queue, ...numbered('s', 1, 1));
      await end(queue, 1);
      await queue.lifeCycle.finalize(key);
      await append(queue, ...numbered('s', 0, 1));
      await queue.close();
      queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([0]);
    }));

  it('can be discarded, which opens the next epoch for the outcome (D22, ING-713)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const letter = await finalisedWithLetter(queue);
      await discard(queue, letter);
      for (const restart of [false, true]) {
        if (restart) {
          await place.kill();
          queue = await place.open();
        }
        const [found] = await queue.readDeadLetters(key);
        expect(found).toMatchObject({
          id: letter,
          isRetired: true,
          outcome: { kind: 'discarded' },
        });
        await assertBooks(queue, { accepted: 2, applied: 1, dead: 0, discarded: 1 });
      }
      expect(await queue.activeKeys()).toEqual([key]);
      await queue.lifeCycle.finalize(key);
      expect((await namesIn(place.disk, folder, /./)).length).toBe(1);
      expect((await queue.readDeadLetters(key))[0]?.outcome.kind).toBe('discarded');
      await assertCode(discard(queue, letter), 'DEAD_LETTER_STATE', 'reject');
      await assertBooks(queue, { dead: 0, discarded: 1 });
    }));

  it('are settled by a client that sends the id again (ING-515)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const letter = await finalisedWithLetter(queue);
      const again = testRecord({ eventId: 'e0', data: { n: 0 } });
      const [outcome] = await queue.append([again]);
      expect(outcome?.status).toBe('queued');
      await assertBooks(queue, { accepted: 2, applied: 1, dead: 0, pending: 1 });
      await place.kill();
      queue = await place.open();
      const [found] = await queue.readDeadLetters(key);
      expect(found).toMatchObject({
        id: letter,
        outcome: { kind: 'requeued', position: positionIn(outcome) },
      });
      expect((await queue.append([again]))[0]?.status).toBe('duplicate');
      await drain(queue);
      await assertBooks(queue, { accepted: 2, applied: 2, dead: 0 });
    }));
});

describe('a missing cursor', () => {
  it('is refused a seed where there is one (W12, ING-613)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await drain(queue);
      await assertCode(queue.lifeCycle.seedCursor(key, cursorAt(9)), 'CURSOR_CORRUPT', 'corrupt');
    }));

  it('is made durable, position as it was (W12, ING-613)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await queue.lifeCycle.seedCursor(key, cursorAt(9));
      await place.kill();
      queue = await place.open();
      expect(await queue.readCursor(key)).toEqual(cursorAt(9));
      expect(await pendingNumbers(queue)).toEqual([0]);
    }));
});
