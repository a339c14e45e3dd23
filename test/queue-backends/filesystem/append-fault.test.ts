import { describe, expect, it } from 'vitest';
import { append, assertBooks, numbered, pendingNumbers } from '../../contract/queue/steps.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { withPlace } from './place.ts';

const key = testKey('s');

describe('an append whose frame cannot be made', () => {
  it('gives its positions back: the next record stands behind the last one, and nobody waits for what never comes (P2, QFS-03)', () =>
    withPlace(async (place) => {
      let isBroken = false;
      const clock = {
        ...place.clock,
        now: () => {
          if (isBroken) throw new RangeError('no time');
          return place.clock.now();
        },
      };
      const queue = await place.open({ clock });
      await append(queue, ...numbered('s', 0, 1));
      isBroken = true;
      const lost = testRecord({ session: 's', eventId: 'lost', data: { n: 9 } });
      await expect(queue.append([lost])).rejects.toThrow('no time');
      isBroken = false;
      await append(queue, ...numbered('s', 1, 1));
      expect(await pendingNumbers(queue)).toEqual([0, 1]);
      await assertBooks(queue, { accepted: 2, pending: 2 });
      // Waits until nothing of the key is on its way.
      await queue.resetOffset(key, { by: 'operator', operationId: 'x' });
      await queue.close();
      expect(await pendingNumbers(await place.open())).toEqual([0, 1]);
    }));
});
