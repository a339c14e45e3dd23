import { afterEach, describe, expect, it } from 'vitest';
import type { QueueTotals } from '#queue';
import { daemonNoticed, type DaemonNoticed } from '#signals';
import { healthOf } from '../../src/daemon/watch/health.ts';
import { watchDegraded } from '../../src/daemon/watch/watch-degraded.ts';
import { watchGraph } from '../../src/daemon/watch/watch-graph.ts';
import { watchResidual } from '../../src/daemon/watch/watch-residual.ts';
import { watchRootLock } from '../../src/daemon/watch/watch-root-lock.ts';
import { fakeClock } from '../support/clock.ts';
import { openMemoryGraph } from '../support/memory-graph.ts';

let ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends) end();
  ends = [];
});

function notices(): DaemonNoticed[] {
  const told: DaemonNoticed[] = [];
  ends.push(daemonNoticed.subscribe((notice) => told.push(notice)));
  return told;
}

const balanced: QueueTotals = {
  accepted: 10,
  applied: 6,
  pending: 2,
  dead: 1,
  discarded: 1,
  duplicates: 0,
  quarantinedKeys: 0,
  activeKeys: 1,
  knownKeys: 1,
  backlogBytes: 0,
  oldestPendingMs: null,
};

describe('the watch over a graph in a server', () => {
  it('says since when it does not answer, though there is nothing to write, and is well again by itself (P9, ING-536)', async () => {
    const clock = fakeClock();
    const graph = openMemoryGraph();
    const watch = watchGraph(clock, graph);
    ends.push(() => watch.end());
    await clock.advance(6_000);
    expect(watch.degraded()).toEqual([]);
    graph.setUnavailable(true);
    await clock.advance(6_000);
    const [first] = watch.degraded();
    expect(first).toMatchObject({ code: 'GRAPH_UNAVAILABLE' });
    await clock.advance(6_000);
    expect(watch.degraded()).toEqual([first]);
    graph.setUnavailable(false);
    await clock.advance(6_000);
    expect(watch.degraded()).toEqual([]);
  });
});

describe('the watch over the books', () => {
  it('is degraded by a residual that stays, not by one that passes (P4, ING-717)', async () => {
    const clock = fakeClock();
    let totals = balanced;
    const watch = watchResidual(clock, () => totals, 15_000);
    ends.push(() => watch.end());
    totals = { ...balanced, applied: 5 };
    await clock.advance(10_000);
    totals = balanced;
    await clock.advance(10_000);
    expect(watch.degraded()).toEqual([]);
    totals = { ...balanced, applied: 7 };
    await clock.advance(20_000);
    expect(watch.degraded()).toMatchObject([{ code: 'CONSERVATION_RESIDUAL' }]);
    expect(watch.degraded()[0]?.message).toContain('-1 accepted');
    totals = balanced;
    await clock.advance(2000);
    expect(watch.degraded()).toEqual([]);
  });

  it('tells once what begins to be wrong and once that it is well again', async () => {
    const clock = fakeClock();
    const told = notices();
    let degraded = [
      { code: 'GRAPH_UNAVAILABLE', message: 'away', since: '2026-01-01T00:00:00.000Z' },
    ];
    ends.push(watchDegraded(clock, () => degraded));
    await clock.advance(10_000);
    expect(told).toEqual([{ code: 'GRAPH_UNAVAILABLE', message: 'away' }]);
    degraded = [];
    await clock.advance(10_000);
    expect(told).toHaveLength(2);
    expect(told[1]?.message).toContain('well again');
  });
});

describe('the watch over the root lock', () => {
  it('tells of a loss once, and takes a look that fails for no proof (ING-310)', async () => {
    const clock = fakeClock();
    const told = notices();
    let look: () => Promise<boolean> = () => Promise.resolve(true);
    const lost: string[] = [];
    const lock = { path: '/r/root.lock', stillHeld: () => look(), release: () => undefined };
    ends.push(watchRootLock(clock, lock, (reason) => lost.push(reason)));
    await clock.advance(10_000);
    look = () => Promise.reject(new Error('EIO'));
    await clock.advance(2000);
    expect(lost).toEqual([]);
    expect(told).toEqual([{ code: 'LOCK_UNAVAILABLE', message: 'EIO' }]);
    look = () => Promise.resolve(false);
    await clock.advance(20_000);
    expect(lost).toHaveLength(1);
    expect(clock.waitingCount()).toBe(0);
  });
});

describe('health', () => {
  const fault = { code: 'GRAPH_UNAVAILABLE', message: 'away' };

  it('is ready while the graph is away, and not while appends cannot be durable (ING-948)', () => {
    expect(healthOf('ready', [], [])).toMatchObject({ state: 'ready', isReady: true, reasons: [] });
    expect(healthOf('ready', [], [fault])).toMatchObject({ state: 'degraded', isReady: true });
    const trouble = { ...fault, place: '/root/queue', since: '' };
    expect(healthOf('ready', [{ ...trouble, isRefusing: true }], [])).toMatchObject({
      state: 'degraded',
      isReady: false,
    });
    expect(healthOf('ready', [{ ...trouble, isRefusing: false }], [])).toMatchObject({
      state: 'degraded',
      isReady: true,
    });
  });

  it('tells anybody the code and the kind of trouble, and neither a session nor a path (ING-948)', () => {
    const queue = {
      code: 'Q',
      message: 'full',
      place: '/secret/path',
      since: '',
      isRefusing: true,
    };
    const drain = { code: 'DRAIN_FAILED', message: 'w~secret-session: it failed' };
    const text = JSON.stringify(healthOf('ready', [queue], [drain]));
    expect(text).not.toContain('secret');
    expect(text).toContain('"message":"full"');
    expect(text).toContain('DRAIN_FAILED');
  });

  it('is live but not ready while it starts, recovers and drains, and dead when it is fenced', () => {
    for (const phase of ['starting', 'recovering', 'draining'] as const)
      expect(healthOf(phase, [], [])).toMatchObject({ state: phase, isLive: true, isReady: false });
    expect(healthOf('fenced', [], []).isLive).toBe(false);
    expect(healthOf('recovering', [], []).reasons[0]?.code).toBe('RECOVERING');
  });
});
