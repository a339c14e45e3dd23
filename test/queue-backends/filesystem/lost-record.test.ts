import { describe, expect, it } from 'vitest';
import { memoryState } from '#state';
import {
  append,
  assertBooks,
  drain,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { withPlace, type Place } from './place.ts';
import {
  apply,
  clear,
  everAfter,
  key,
  logPath,
  offsetPath,
  settled,
  stopped,
} from './stopped-key.ts';

describe('an offset record that is lost', () => {
  it('of a session that was checkpointed stops it: read from zero it would lose its books in silence (P1, P4, ING-404)', () =>
    withPlace(async (place) => {
      await settled(place);
      await place.disk.unlink(offsetPath);
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      await assertBooks(queue, { accepted: 8, applied: 2, dead: 1 });
      await expect(clear(queue, 'keep')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
      await clear(queue, 'restart-log');
      await everAfter(place, queue, async (open) => {
        expect((await statusOf(open, key)).quarantine).toBeNull();
        expect((await pendingNumbers(open))[0]).toBe(0);
        await assertBooks(open, { accepted: 8 });
      });
    }));

  it('of a session that came back after its end stops it too, with the books of all its times (P4, ING-805)', () =>
    withPlace(async (place) => {
      await endedOnce(place);
      const again = await place.open();
      await append(again, ...numbered('s', 10, 3));
      await drain(again, 's', 1);
      await again.close();
      await place.disk.unlink(offsetPath);
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      await assertBooks(queue, { accepted: 11, applied: 6, dead: 1 });
      await clear(queue, 'restart-log');
      expect(await pendingNumbers(queue)).toEqual([10, 11, 12]);
      await assertBooks(queue, { accepted: 11, dead: 1 });
    }));

  it('that never was, since the session came back and was killed before its checkpoint, stops nobody (P1)', () =>
    withPlace(async (place) => {
      await endedOnce(place);
      const again = await place.open();
      await append(again, ...numbered('s', 10, 3));
      await place.kill();
      const queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([10, 11, 12]);
      expect((await statusOf(queue, key)).quarantine).toBeNull();
      await assertBooks(queue, { accepted: 11, dead: 1 });
    }));

  it('of a session that came back, was filled and killed, takes no books away: its frames and its row have them (P4, ING-805)', () =>
    withPlace(async (place) => {
      await settled(place);
      const queue = await place.open();
      await apply(queue, 3);
      expect(await queue.lifeCycle.finalize(key)).toBe('done');
      await append(queue, ...numbered('s', 10, 3));
      for (let turns = 0; !(await isThere(place, logPath)); turns += 1) {
        expect(turns).toBeLessThan(100);
        await place.clock.advance(100);
      }
      await place.kill();
      await place.disk.unlink(offsetPath);
      const again = await place.open();
      expect((await statusOf(again, key)).quarantine).toBeNull();
      await assertBooks(again, { accepted: 11, applied: 5, dead: 1, pending: 5 });
      expect(await statusOf(again, key)).toMatchObject({ accepted: 9, applied: 5, dead: 1 });
      expect(await pendingNumbers(again)).toEqual([10, 11, 12]);
    }));

  it('beside a state store that is new as well has nothing to be compared with: the log is read from its beginning (ING-823)', () =>
    withPlace(async (place) => {
      await settled(place);
      await place.disk.unlink(offsetPath);
      place.state = memoryState();
      const queue = await place.open();
      expect((await statusOf(queue, key)).quarantine).toBeNull();
      expect((await pendingNumbers(queue))[0]).toBe(0);
    }));
});

async function isThere({ disk }: Place, path: string): Promise<boolean> {
  return (await disk.stat(path)) !== undefined;
}

/** Six records of `s`, one of them dead, and its end; nothing of it is left but its row. */
async function endedOnce(place: Place): Promise<void> {
  await settled(place);
  const queue = await place.open();
  await apply(queue, 3);
  expect(await queue.lifeCycle.finalize(key)).toBe('done');
  await queue.close();
}
