import { expect, it } from 'vitest';
import { note, openDrain } from './drain-fixture.ts';

it('waits for a late append of an ended session instead of asking for it for ever, so that its sync can end (ING-803, P9)', async () => {
  let asked = 0;
  const fixture = openDrain({
    lifeCycle: {
      isFullyDrained: () => Promise.resolve(true),
      seedCursor: () => Promise.resolve(),
      compactCommittedPrefix: () => Promise.reject(new Error('it compacts nothing')),
      // An append came first and is not synced yet: nothing to read, and not drained.
      finalize() {
        asked += 1;
        if (asked > 100) throw new Error('it was asked again and again');
        return Promise.resolve(asked < 3 ? 'late-lines' : 'done');
      },
    },
  });
  try {
    await fixture.post(note('a', 0), note('a', 1, {}, 'session:end'));
    await fixture.drained();
    expect(asked).toBe(1);
    // Each append wakes the worker, and the end is tried again.
    await fixture.post(note('a', 2, {}, 'custom:late'));
    await fixture.drained();
    expect(asked).toBe(2);
    await fixture.post(note('a', 3, {}, 'custom:later'));
    await fixture.drained();
    expect(asked).toBe(3);
    expect(fixture.queue.totals()).toMatchObject({ applied: 4, pending: 0 });
  } finally {
    await fixture.close();
  }
});
