import { afterEach, describe, expect, it } from 'vitest';
import { workerChanged, type WorkerChanged } from '#signals';
import { graphUnavailable, mutationRefused } from '#graph';
import { queueWriteFailed } from '#queue';
import { testKey } from '../support/queue-fixtures.ts';
import { turn, until } from '../support/turn.ts';
import {
  holdsMark,
  note,
  notes,
  openDrain,
  type DrainFixture,
  type FixtureOptions,
} from './drain-fixture.ts';

const open: DrainFixture[] = [];

function openHere(options: FixtureOptions = {}): DrainFixture {
  const fixture = openDrain(options);
  open.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

/** Holds every apply until the test lets it go. */
function gate(): {
  readonly wait: () => Promise<void>;
  open(): void;
  readonly count: () => number;
} {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  return {
    wait: () =>
      isOpen
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push(resolve);
          }),
    open() {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
    count: () => waiting.length,
  };
}

describe('workers', () => {
  it('has few at work for many keys with a backlog, and drains them all (ING-826, P9)', async () => {
    let runningMax = 0;
    const fixture = openHere({
      isStarted: false,
      settings: { respawnLimit: 4, workersMax: 16 },
      faults: {
        beforeApply() {
          const { workers } = fixture.drain.status();
          const idle = workers.idle ?? 0;
          const all = Object.values(workers).reduce((sum, count) => sum + count, 0);
          runningMax = Math.max(runningMax, all - idle);
        },
      },
    });
    for (let at = 0; at < 500; at += 1) await fixture.queue.append(notes(`s${at}`, 2));
    fixture.drain.start();
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 1000, pending: 0 });
    expect(runningMax).toBeGreaterThan(4);
    expect(runningMax).toBeLessThanOrEqual(16);
  });

  it('lets few of many active keys stand in line, and finds the rest by later sweeps (P9)', async () => {
    let waitingMax = 0;
    const fixture = openHere({
      isStarted: false,
      settings: { respawnLimit: 2, workersMax: 2, enqueuedMax: 8 },
      faults: {
        beforeApply() {
          waitingMax = Math.max(waitingMax, fixture.drain.status().waitingKeys);
        },
      },
    });
    for (let at = 0; at < 100; at += 1) await fixture.queue.append(notes(`s${at}`, 1));
    fixture.drain.start();
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 100, pending: 0 });
    expect(waitingMax).toBeGreaterThan(2);
    expect(waitingMax).toBeLessThanOrEqual(8);
  });

  it('lets others work while more keys than may be at work wait for their next try (P7)', async () => {
    const bad = ['bad-0', 'bad-1', 'bad-2'].map((session) => testKey(session));
    let isBroken = true;
    const fixture = openHere({
      isStarted: false,
      settings: { respawnLimit: 1, workersMax: 2 },
      faults: {
        beforeRead(key) {
          if (isBroken && bad.includes(key)) throw queueWriteFailed({ reason: 'EIO', keys: [key] });
        },
      },
    });
    for (const session of ['bad-0', 'bad-1', 'bad-2', 'good'])
      await fixture.queue.append(notes(session, 3));
    fixture.drain.start();
    await until('the good key is drained', () => fixture.queue.totals().applied === 3);
    expect(fixture.queue.totals().pending).toBe(9);
    isBroken = false;
    for (let tries = 0; tries < 100 && fixture.queue.totals().pending > 0; tries += 1)
      await fixture.clock.advance(1000);
    expect(fixture.queue.totals()).toMatchObject({ applied: 12, pending: 0 });
  });

  it('begins with the respawn limit and takes one more with each commit (ING-826)', async () => {
    const held = gate();
    const fixture = openHere({
      isStarted: false,
      settings: { respawnLimit: 3, workersMax: 100, writeConcurrency: 1 },
      faults: { beforeApply: () => held.wait() },
    });
    for (let at = 0; at < 50; at += 1) await fixture.queue.append(notes(`s${at}`, 1));
    fixture.drain.start();
    await until('a group is held', () => held.count() === 1);
    const { workers, waitingKeys } = fixture.drain.status();
    expect(Object.values(workers).reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(waitingKeys).toBe(47);
    held.open();
    await fixture.drained();
    expect(fixture.queue.totals().pending).toBe(0);
  });

  it('lets a key that never ends give way to those in line', async () => {
    const fixture = openHere({
      isStarted: false,
      settings: { respawnLimit: 1, workersMax: 1, batchRecordsMax: 10 },
    });
    await fixture.queue.append([...notes('long', 100), ...notes('short', 1)]);
    fixture.drain.start();
    await fixture.drained();
    const order = fixture.graph.applied.flat().map(({ key }) => key);
    expect(order.indexOf(testKey('short'))).toBeLessThan(3);
  });

  it('holds no more bytes of records than its limit, however many keys wait (P9)', async () => {
    let inGroups = 0;
    const held = gate();
    const fixture = openHere({
      settings: { respawnLimit: 100, batchBytesMax: 10_000, heldBytesMax: 40_000 },
      faults: {
        async beforeApply(group) {
          inGroups += group.length;
          await held.wait();
        },
      },
    });
    const text = 'x'.repeat(8000);
    for (let at = 0; at < 50; at += 1) await fixture.post(note(`s${at}`, 0, { text }));
    await until('a group is held', () => held.count() > 0);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(inGroups).toBeLessThanOrEqual(5);
    held.open();
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 50, pending: 0 });
  });

  it('leaves memory after a re-check read and takes up a record that comes meanwhile (ING-806)', async () => {
    let onRead: (() => Promise<void>) | undefined;
    const fixture = openHere({
      settings: { idleExitMs: 1000 },
      faults: { beforeRead: () => onRead?.() },
    });
    const { post, drain, clock } = fixture;
    await post(...notes('a', 1), ...notes('b', 1));
    await fixture.drained();
    expect(drain.status().workers).toEqual({ idle: 2 });
    onRead = async () => {
      onRead = undefined;
      await post(note('a', 1));
    };
    await clock.advance(1500);
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 3, pending: 0 });
    await clock.advance(5000);
    expect(drain.status().workers).toEqual({});
    expect(drain.worker(testKey('a'))).toBeUndefined();
    await post(note('a', 2));
    await fixture.drained();
    expect(fixture.queue.totals().applied).toBe(4);
  });

  it('sees a record that came behind its last read, without waiting for a sweep (ING-806)', async () => {
    let left = 3;
    const fixture = openHere({
      faults: {
        async afterRead(key, count) {
          if (count > 0 || left === 0) return;
          left -= 1;
          await fixture.post(note('a', 10 + left));
        },
      },
    });
    await fixture.post(note('a', 0));
    await until('all is drained', () => fixture.queue.totals().applied === 4, 200);
  });

  it('sees a record that came while its worker was at work, without waiting for a sweep', async () => {
    const held = gate();
    const fixture = openHere({ faults: { beforeApply: () => held.wait() } });
    await fixture.post(note('a', 0));
    await until('a group is held', () => held.count() === 1);
    await fixture.post(note('a', 1));
    held.open();
    await until('all is drained', () => fixture.queue.totals().applied === 2, 200);
  });

  it('keeps a bounded number of idle workers, and no timer for any of them (ING-808)', async () => {
    const { post, drained, drain, clock } = openHere({ settings: { idleWorkersMax: 10 } });
    for (let at = 0; at < 60; at += 1) await post(...notes(`s${at}`, 1));
    await drained();
    expect(drain.status().workers).toEqual({ idle: 10 });
    expect(clock.waitingCount()).toBe(1);
  });

  it('says each change of a worker, and only moves of its table', async () => {
    const changes: WorkerChanged[] = [];
    const end = workerChanged.subscribe((change) => changes.push(change));
    const fixture = openHere();
    await fixture.post(...notes('a', 1));
    await fixture.drained();
    end();
    expect(changes.map(({ from, to }) => `${from} ${to}`)).toEqual([
      'starting arming',
      'arming reading',
      'reading applying',
      'applying reading',
      'reading idle',
    ]);
  });

  it('survives wakes at every moment without losing a record or running a key twice', async () => {
    const inApply = new Set<string>();
    const fixture = openHere({
      settings: { batchRecordsMax: 3, writeConcurrency: 8 },
      faults: {
        async beforeApply(group) {
          for (const { key } of group) {
            expect(inApply.has(key), `${key} is in two groups`).toBe(false);
            inApply.add(key);
          }
          await turn();
          for (const { key } of group) inApply.delete(key);
        },
      },
    });
    for (let at = 0; at < 60; at += 1) {
      await fixture.post(note('a', at), note('b', at));
      if (at % 3 === 0) await turn();
    }
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 120, pending: 0 });
  });
});

describe('stopping', () => {
  it('ends at a batch border: what was applied is committed, the rest stays, nothing dies (P10, PN-05)', async () => {
    const held = gate();
    const fixture = openHere({
      settings: { batchRecordsMax: 5, writeConcurrency: 1 },
      faults: { beforeApply: () => held.wait() },
    });
    await fixture.post(...notes('a', 50), ...notes('b', 50));
    await until('a group is held', () => held.count() === 1);
    const stopping = fixture.drain.stop(10_000);
    held.open();
    expect(await stopping).toEqual({ isClean: true, abandonedKeys: 0 });
    const { applied, pending, dead } = fixture.queue.totals();
    expect(applied).toBe(fixture.graph.applied.flat().flatMap(({ steps }) => steps).length);
    expect(applied).toBeGreaterThan(0);
    expect(pending).toBe(100 - applied);
    expect(dead).toBe(0);
  });

  it('gives up at its deadline while the store hangs, and buries nothing when the store is closed under it (ING-827, PN-05)', async () => {
    const held = gate();
    const fixture = openHere({
      faults: {
        async beforeApply() {
          await held.wait();
          throw new TypeError('the driver is closed');
        },
      },
    });
    await fixture.post(...notes('a', 5));
    await until('a group is held', () => held.count() === 1);
    const stopping = fixture.drain.stop(1000);
    await fixture.clock.advance(1000);
    expect(await stopping).toEqual({ isClean: false, abandonedKeys: 1 });
    held.open();
    await turn();
    await fixture.clock.advance(1000);
    expect(fixture.queue.totals()).toMatchObject({ pending: 5, dead: 0, applied: 0 });
  });

  it('does not wait out a back-off, and leaves a suspect for the next start (PN-05)', async () => {
    let begun = 0;
    const fixture = openHere({
      faults: {
        beforeApply(group) {
          begun += 1;
          if (holdsMark(group, 'suspect')) throw mutationRefused({ session: 'a', reason: 'x' });
          throw graphUnavailable({ reason: 'away' });
        },
      },
    });
    await fixture.post(note('a', 0, { text: 'suspect' }), note('b', 0));
    for (let turns = 0; turns < 20; turns += 1) await turn();
    const before = begun;
    expect(before).toBeGreaterThan(1);
    expect(await fixture.drain.stop(1000)).toMatchObject({ isClean: true });
    expect(begun).toBe(before);
    expect(fixture.queue.totals()).toMatchObject({ pending: 2, dead: 0 });
    expect(fixture.clock.waitingCount()).toBe(0);
  });

  it('begins no transaction after it was told to stop (P10)', async () => {
    const held = gate();
    let begun = 0;
    const fixture = openHere({
      settings: { writeConcurrency: 1, groupRecordsMax: 1 },
      faults: {
        async beforeApply() {
          begun += 1;
          await held.wait();
          if (begun === 1) throw graphUnavailable({ reason: 'away' });
        },
      },
    });
    await fixture.post(note('a', 0), note('b', 0), note('c', 0));
    await until('a group is held', () => held.count() === 1);
    const stopping = fixture.drain.stop(10_000);
    held.open();
    await stopping;
    await fixture.clock.advance(60_000);
    expect(begun).toBe(1);
  });

  it('does not bury a suspect whose last try ends in the middle of a stop (PN-05)', async () => {
    const held = gate();
    let tries = 0;
    const fixture = openHere({
      faults: {
        async beforeApply() {
          tries += 1;
          if (tries === 3) await held.wait();
          throw mutationRefused({ session: 'a', reason: 'x' });
        },
      },
    });
    await fixture.post(note('a', 0));
    for (let ms = 0; held.count() === 0 && ms < 10_000; ms += 50) await fixture.clock.advance(50);
    const stopping = fixture.drain.stop(10_000);
    held.open();
    expect(await stopping).toMatchObject({ isClean: true });
    expect(fixture.queue.totals()).toMatchObject({ pending: 1, dead: 0 });
  });

  it('refuses a wait for idleness from then on, and a second stop is harmless', async () => {
    const fixture = openHere();
    await fixture.drain.stop(1000);
    await expect(fixture.drain.idle(AbortSignal.timeout(1000))).rejects.toMatchObject({
      code: 'DRAINING',
    });
    expect(await fixture.drain.stop(1000)).toMatchObject({ isClean: true });
    fixture.drain.wake(testKey('a'));
    expect(fixture.drain.worker(testKey('a'))).toBeUndefined();
  });
});
