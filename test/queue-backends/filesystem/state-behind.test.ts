import { describe, expect, it } from 'vitest';
import type { StateGap } from '#queue-backends/filesystem';
import { memoryState, type StateSnapshot } from '#state';
import { append, drain, numbered } from '../../contract/queue/steps.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { withPlace, type Place } from './place.ts';

/** What a start is told of its state store. */
async function gapsAt(place: Place): Promise<readonly StateGap[]> {
  const gaps: StateGap[] = [];
  const queue = await place.open({ onStateBehind: async (gap) => void gaps.push(gap) });
  await queue.close();
  return gaps;
}

/** Two lives, and the state between them. */
async function twoLives(place: Place): Promise<StateSnapshot> {
  const first = await place.open();
  await append(first, ...numbered('s', 0, 3));
  await drain(first);
  await first.close();
  const between = place.state.snapshot();
  const second = await place.open();
  await append(second, ...numbered('s', 3, 3));
  await drain(second);
  await second.close();
  return between;
}

describe('a state store that lacks what the journal no longer holds', () => {
  it('is told apart from its own, also after every kill (P4, ING-513)', () =>
    withPlace(async (place) => {
      expect(await gapsAt(place), 'a new root').toEqual([]);
      await twoLives(place);
      expect(await gapsAt(place)).toEqual([]);
      const queue = await place.open();
      await append(queue, ...numbered('s', 6, 1));
      await place.kill();
      expect(await gapsAt(place)).toEqual([]);
    }));

  it('has lost nothing that a checkpoint counted, when its own last moments go with the power (P1, ING-513, QFS-11)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const sent = Array.from({ length: 3 }, (_, n) =>
        testRecord({ session: 's', eventId: `e${n}`, data: { n } }),
      );
      await append(first, ...sent);
      await drain(first);
      await first.lifeCycle.finalize(testKey('s'));
      await first.checkpoint();
      await place.kill();
      place.state.restore(place.state.flushed());
      expect(await gapsAt(place)).toEqual([]);
      const queue = await place.open();
      expect((await queue.append(sent)).map(({ status }) => status)).toEqual([
        'duplicate',
        'duplicate',
        'duplicate',
      ]);
    }));

  it('is noticed as an older copy, and once caught up no more', () =>
    withPlace(async (place) => {
      const older = await twoLives(place);
      place.state.restore(older);
      expect(await gapsAt(place)).toHaveLength(1);
      expect(await gapsAt(place)).toEqual([]);
    }));

  it('is noticed as a new one in the place of one that is lost', () =>
    withPlace(async (place) => {
      await twoLives(place);
      place.state = memoryState();
      const [gap] = await gapsAt(place);
      expect(gap?.knownThrough).toBe(0);
      expect(gap?.neededThrough).toBeGreaterThan(0);
    }));
});
