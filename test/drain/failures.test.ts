import { afterEach, describe, expect, it } from 'vitest';
import { fenceStale } from '#fence';
import { graphConflict, graphMismatch, graphUnavailable, mutationRefused } from '#graph';
import type { GroupPart } from '#graph';
import { queueWriteFailed, recordCorrupt } from '#queue';
import { testKey } from '../support/queue-fixtures.ts';
import { turn } from '../support/turn.ts';
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

const mark = 'the store hates this';

function refuseMark(group: readonly GroupPart[]): void {
  if (holdsMark(group, mark)) throw mutationRefused({ session: 'a', reason: mark });
}

/** Lets the clock run until all is drained: back-offs are sat out in fake time. */
async function drainedInTime(fixture: DrainFixture, limitMs = 120_000): Promise<void> {
  const fate = { isDone: false };
  const done = fixture.drained().then(() => {
    fate.isDone = true;
  });
  for (let ms = 0; ms < limitMs && !fate.isDone; ms += 100) await fixture.clock.advance(100);
  await done;
}

describe('failures that may pass', () => {
  it('dead-letters nothing in an outage of ten minutes, and applies all afterwards (ING-511, ING-522, PN-02, T24)', async () => {
    const fixture = openHere();
    const { post, queue, graph, clock, drain } = fixture;
    for (let at = 0; at < 10; at += 1) await post(note(`s${at}`, 0));
    await fixture.drained();
    graph.setUnavailable(true);
    for (let at = 0; at < 10; at += 1) await post(...notes(`s${at}`, 29, 1));
    for (let at = 10; at < 20; at += 1) await post(...notes(`s${at}`, 30));
    await clock.advance(10 * 60_000);
    expect(queue.totals()).toMatchObject({ accepted: 600, pending: 590, dead: 0, applied: 10 });
    expect(drain.status().trouble.map(({ code }) => code)).toContain('GRAPH_UNAVAILABLE');
    graph.setUnavailable(false);
    await drainedInTime(fixture);
    expect(queue.totals()).toMatchObject({ applied: 600, pending: 0, dead: 0 });
    expect(drain.status().trouble).toEqual([]);
  });

  it('tries the same group again after an outage that begins when workers are armed (ING-536)', async () => {
    const fixture = openHere();
    const { post, queue, graph, clock, drain } = fixture;
    const groups: string[] = [];
    await post(...notes('a', 1));
    await fixture.drained();
    graph.setUnavailable(true);
    await post(...notes('a', 5, 1));
    await clock.advance(60_000);
    expect(drain.worker(testKey('a'))).toMatchObject({ state: 'backing-off' });
    expect(drain.worker(testKey('a'))?.attempts).toBeGreaterThan(5);
    graph.setUnavailable(false);
    await drainedInTime(fixture);
    groups.push(...graph.applied.flat().map(({ steps }) => String(steps.length)));
    expect(groups).toEqual(['1', '5']);
    expect(drain.worker(testKey('a'))).toMatchObject({ state: 'idle', attempts: 0, error: null });
    expect(queue.totals()).toMatchObject({ applied: 6, dead: 0 });
  });

  it('starts with the short wait again after an outage is over (PN-28)', async () => {
    const fixture = openHere();
    const { post, graph, clock } = fixture;
    graph.setUnavailable(true);
    await post(...notes('a', 1));
    await clock.advance(5 * 60_000);
    graph.setUnavailable(false);
    await drainedInTime(fixture);
    graph.failNext(graphConflict({ reason: 'a deadlock' }));
    await post(...notes('a', 1, 1));
    await clock.advance(200);
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ applied: 2, pending: 0 });
  });

  it('leaves isolation for an outage without using the budget (PN-04)', async () => {
    let isAway = false;
    let refusals = 0;
    const fixture = openHere({
      faults: {
        beforeApply(group) {
          if (isAway) throw graphUnavailable({ reason: 'it went away' });
          if (!holdsMark(group, mark)) return;
          refusals += 1;
          isAway = refusals === 2;
          throw mutationRefused({ session: 'a', reason: mark });
        },
      },
    });
    const { post, clock, queue } = fixture;
    await post(note('a', 0), note('a', 1, { text: mark }), note('a', 2));
    await clock.advance(5 * 60_000);
    expect(queue.totals()).toMatchObject({ dead: 0 });
    isAway = false;
    await drainedInTime(fixture);
    expect(queue.totals()).toMatchObject({ applied: 2, dead: 1, pending: 0 });
    const [letter] = await queue.readDeadLetters(testKey('a'));
    expect(letter?.attempts).toBe(3);
  });

  it('takes an error that nobody has classified for an outage while the store is silent, and for poison while it answers (ING-536)', async () => {
    let isSilent = true;
    const fixture = openHere({
      faults: {
        beforeApply(group) {
          if (holdsMark(group, mark)) throw new TypeError('something odd');
        },
        probe() {
          if (isSilent) throw graphUnavailable({ reason: 'silent' });
        },
      },
    });
    const { post, clock, queue } = fixture;
    await post(note('a', 0, { text: mark }), note('a', 1));
    await clock.advance(5 * 60_000);
    expect(queue.totals()).toMatchObject({ dead: 0, pending: 2 });
    isSilent = false;
    await drainedInTime(fixture);
    const [letter] = await queue.readDeadLetters(testKey('a'));
    expect(letter?.error.code).toBe('APPLY_FAILED');
    expect(queue.totals()).toMatchObject({ applied: 1, dead: 1 });
  });

  it('rebuilds the worker from the stored record when a commit fails, and sends nothing twice (ING-501, ING-539)', async () => {
    let failures = 2;
    const fixture = openHere({
      faults: {
        beforeCommit() {
          failures -= 1;
          if (failures >= 0) throw queueWriteFailed({ reason: 'the disk is full' });
        },
      },
    });
    const { post, queue, graph } = fixture;
    await post(...notes('a', 7));
    await drainedInTime(fixture);
    expect(graph.applied.flat().flatMap(({ steps }) => steps)).toHaveLength(7);
    expect(queue.totals()).toMatchObject({ applied: 7, pending: 0, dead: 0 });
  });

  it('keeps a value that cannot be stored waiting, with its record (D30)', async () => {
    let isFull = true;
    const fixture = openHere({
      faults: {
        beforePut() {
          if (isFull) throw new Error('ENOSPC');
        },
      },
    });
    const { post, queue, clock, drain } = fixture;
    await post(note('a', 0, { text: 'x'.repeat(100_000) }), note('b', 0));
    await clock.advance(60_000);
    expect(queue.totals()).toMatchObject({ applied: 1, pending: 1, dead: 0 });
    expect(drain.status().trouble).toHaveLength(1);
    isFull = false;
    await drainedInTime(fixture);
    expect(queue.totals()).toMatchObject({ applied: 2, pending: 0 });
    expect(drain.status().trouble).toEqual([]);
  });
});

describe('poison', () => {
  it('finds one poison record in a group of 5 keys with 20 records each, and nothing else dies or moves (ING-537, T32)', async () => {
    const fixture = openHere({ faults: { beforeApply: refuseMark } });
    const { post, queue, graph } = fixture;
    const records = ['a', 'b', 'c', 'd', 'e'].flatMap((session) =>
      notes(session, 20).map((record, at) =>
        session === 'c' && at === 11 ? note('c', 11, { text: mark }) : record,
      ),
    );
    await post(...records);
    await drainedInTime(fixture);
    expect(queue.totals()).toMatchObject({ accepted: 100, applied: 99, dead: 1, pending: 0 });
    const [letter] = await queue.readDeadLetters(testKey('c'));
    expect(letter).toMatchObject({ attempts: 3, error: { code: 'MUTATION_REFUSED' } });
    expect(letter?.payload.toString()).toContain(mark);
    const order = graph.applied.flatMap((group) =>
      group
        .filter(({ key }) => key === testKey('c'))
        .flatMap(({ steps }) => steps.map(({ at }) => at)),
    );
    expect(order).toHaveLength(19);
    expect(order).toEqual(order.toSorted());
  });

  it('commits the dead record before anything behind it is applied (ING-535, T31)', async () => {
    const seen: string[] = [];
    const fixture = openHere({
      faults: {
        beforeApply: refuseMark,
        afterApply(group) {
          for (const { steps } of group) seen.push(`applied ${steps.length}`);
        },
        afterCommit: () => seen.push('committed'),
      },
    });
    await fixture.post(note('a', 0), note('a', 1, { text: mark }), note('a', 2), note('a', 3));
    await drainedInTime(fixture);
    expect(seen).toEqual([
      'applied 1',
      'committed',
      // The dead letter, in one frame with the position behind it.
      'committed',
      'applied 2',
      'committed',
    ]);
  });

  it('does not let other keys wait for the back-off of a suspect (ING-537)', async () => {
    const fixture = openHere({ faults: { beforeApply: refuseMark } });
    const { post, queue, clock } = fixture;
    await post(note('a', 0, { text: mark }), ...notes('b', 50));
    await turn();
    await clock.advance(0);
    expect(await queue.keyStatus(testKey('b'))).toMatchObject({ applied: 50 });
    expect(await queue.keyStatus(testKey('a'))).toMatchObject({ pending: 1 });
    await drainedInTime(fixture);
    expect(queue.totals()).toMatchObject({ applied: 50, dead: 1 });
  });

  it('buries several poison records of one batch one after another, ids as if they had never been (ING-538)', async () => {
    const bad = [2, 3, 7];
    const poisoned = openHere({ faults: { beforeApply: refuseMark } });
    await poisoned.post(
      ...Array.from({ length: 10 }, (_, at) =>
        note('a', at, bad.includes(at) ? { text: mark } : {}),
      ),
    );
    await drainedInTime(poisoned);
    const clean = openHere();
    await clean.post(
      ...Array.from({ length: 10 }, (_, at) => at)
        .filter((at) => !bad.includes(at))
        .map((at) => note('a', at)),
    );
    await clean.drained();
    expect(poisoned.queue.totals()).toMatchObject({ applied: 7, dead: 3 });
    expect(await poisoned.graph.digest()).toEqual(await clean.graph.digest());
  });
});

describe('faults of one key', () => {
  it('quarantines a key whose log is damaged, and drains all others (ING-405, ING-408, P7)', async () => {
    const fixture = openHere({
      faults: {
        beforeRead(key) {
          if (key === testKey('a'))
            throw recordCorrupt({ key, place: '0', reason: 'a test broke it' });
        },
      },
    });
    const { post, queue, drain } = fixture;
    await post(...notes('a', 2), ...notes('b', 2));
    await fixture.drained();
    expect(queue.totals()).toMatchObject({ applied: 2, pending: 2, quarantinedKeys: 1 });
    expect(drain.worker(testKey('a'))).toMatchObject({ state: 'quarantined' });
    await post(...notes('a', 1, 2));
    await fixture.drained();
    expect(drain.status().workers).toEqual({ quarantined: 1, idle: 1 });
  });

  it('quarantines a key whose cursor cannot be built in one layer, before its first record is folded (ING-502, T10)', async () => {
    const first = openHere();
    await first.post(...notes('a', 2));
    await first.drained();
    const stored = first.world.store.keys.get(testKey('a'));
    if (stored === undefined) throw new Error('the key is stored');
    const cursor = JSON.parse(stored.cursorText ?? '') as { layer2: { open_runs: unknown } };
    cursor.layer2.open_runs = 'none';
    stored.cursorText = JSON.stringify(cursor);
    first.crash();
    const { post, drained, queue, graph } = openHere({ world: first.world, generation: 2 });
    await post(note('a', 2), note('b', 0));
    await drained();
    expect((await queue.keyStatus(testKey('a')))?.quarantine?.code).toBe('CURSOR_CORRUPT');
    expect(graph.applied.flat().map(({ key }) => key)).toEqual([testKey('b')]);
  });

  it('finds damage in the read before an idle worker leaves, without a crash loop (ING-406, T05)', async () => {
    let isBroken = false;
    let reads = 0;
    const fixture = openHere({
      settings: { idleExitMs: 1000 },
      faults: {
        beforeRead(key) {
          if (!isBroken) return;
          reads += 1;
          throw recordCorrupt({ key, place: '0', reason: 'a test broke it' });
        },
      },
    });
    const { post, drain, clock, queue } = fixture;
    await post(...notes('a', 2));
    await fixture.drained();
    isBroken = true;
    await clock.advance(5000);
    expect(drain.worker(testKey('a'))).toMatchObject({ state: 'quarantined' });
    expect(queue.totals().quarantinedKeys).toBe(1);
    expect(reads).toBe(1);
  });

  it('stops only the key whose row the graph refuses in the middle of a group (ING-536)', async () => {
    const fixture = openHere({
      faults: {
        beforeApply(group) {
          if (group.some(({ key }) => key === testKey('b')))
            throw graphMismatch({ thing: 'the row', expected: 'root', found: 'other' });
        },
      },
    });
    const { post, queue, drain } = fixture;
    await post(...notes('a', 3), ...notes('b', 3), ...notes('c', 3));
    await fixture.drained();
    expect(queue.totals()).toMatchObject({ applied: 6, pending: 3, quarantinedKeys: 0 });
    expect(drain.worker(testKey('b'))).toMatchObject({ state: 'mismatched' });
    expect(drain.status()).toMatchObject({ mismatchedKeys: 1 });
    expect(drain.status().trouble).toMatchObject([{ code: 'GRAPH_MISMATCH' }]);
  });
});

describe('a daemon that is no longer the writer', () => {
  it('stops at once, commits nothing and buries nothing (ING-519, P6)', async () => {
    const fixture = openHere({
      faults: {
        beforeApply() {
          throw fenceStale({ domain: 'd', thing: 'the graph', generation: 1, mark: 2 });
        },
      },
    });
    await fixture.post(...notes('a', 3), ...notes('b', 3));
    await turn();
    await fixture.clock.advance(1000);
    expect(fixture.stops.map(({ code }) => code)).toEqual(['FENCE_STALE']);
    expect(fixture.queue.totals()).toMatchObject({ pending: 6, applied: 0, dead: 0 });
    expect(fixture.drain.status().workers).toEqual({});
  });
});
