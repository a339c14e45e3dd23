import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import { append, drain, numbered } from '../../contract/queue/steps.ts';
import { turn } from '../../support/turn.ts';
import { withPlace } from './place.ts';

const activeCount = 10;

/** What a start, five idle minutes and the questions of every scrape cost. */
interface Cost {
  readonly startCalls: number;
  readonly idleCalls: number;
  readonly openFiles: number;
  readonly timers: number;
}

/** Opens a root that was stopped in order, with `idleCount` drained sessions and ten that wait. */
async function costOf(idleCount: number): Promise<Cost> {
  let cost: Cost | undefined;
  await withPlace(async (place) => {
    const first = await place.open();
    const idle = Array.from({ length: idleCount }, (_, at) => `idle-${at}`);
    await append(first, ...idle.flatMap((session) => numbered(session, 0, 1)));
    await Promise.all(idle.map((session) => drain(first, session)));
    for (let at = 0; at < activeCount; at += 1)
      await append(first, ...numbered(`active-${at}`, 0, 3));
    await first.close();
    const disk = failingDisk(place.disk);
    const timersBefore = place.clock.waitingCount();
    const second = await place.open({ disk });
    const startCalls = disk.callCount();
    expect(second.totals()).toMatchObject({
      knownKeys: idleCount + activeCount,
      activeKeys: activeCount,
      pending: 3 * activeCount,
      applied: idleCount,
    });
    for (let minute = 0; minute < 5; minute += 1) {
      await place.clock.advance(60_000);
      second.totals();
      second.trouble();
      await second.activeKeys();
      await turn();
    }
    cost = {
      startCalls,
      idleCalls: disk.callCount() - startCalls,
      openFiles: place.disk.openPaths().length,
      timers: place.clock.waitingCount() - timersBefore,
    };
    await second.close();
  });
  if (cost === undefined) throw new Error('the root was never opened');
  return cost;
}

describe('a root of many sessions', () => {
  it('costs a start, an idle minute, a handle and a timer as much with two thousand idle sessions as with a hundred (QFS-15, QFS-20, ING-808, ING-821)', async () => {
    const few = await costOf(100);
    const many = await costOf(2_000);
    expect(many).toEqual(few);
    expect(few.openFiles).toBeLessThan(activeCount + 10);
    expect(few.timers).toBeLessThanOrEqual(2);
  });
});
