import { afterEach, describe, expect, it } from 'vitest';
import type { Position } from '#record';
import { testKey } from '../support/queue-fixtures.ts';
import {
  newWorld,
  note,
  notes,
  openDrain,
  type DrainFixture,
  type FixtureOptions,
  type World,
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

/** A root whose key `a` was drained, and then left by a crash. */
async function drainedWorld(count = 3): Promise<World> {
  const fixture = openHere();
  await fixture.post(...notes('a', count));
  await fixture.drained();
  fixture.crash();
  return fixture.world;
}

async function stateOfA(options: FixtureOptions): Promise<DrainFixture> {
  const fixture = openHere({ generation: 2, ...options });
  await fixture.post(note('a', 100), note('b', 0));
  await fixture.drained();
  return fixture;
}

describe('arming', () => {
  it('goes on where queue and graph know each other by the last record (ING-541)', async () => {
    const { queue, drain } = await stateOfA({ world: await drainedWorld() });
    expect(queue.totals()).toMatchObject({ applied: 5, pending: 0 });
    expect(drain.status().mismatchedKeys).toBe(0);
  });

  it('folds for their cursor alone what the graph holds and no commit tells (ING-539, C6)', async () => {
    const first = openHere({
      faults: {
        afterApply() {
          first.crash();
        },
      },
    });
    await first.post(...notes('a', 4));
    await first.clock.advance(1000);
    expect(first.queue.totals()).toMatchObject({ pending: 4 });
    const second = openHere({ world: first.world, generation: 2 });
    await second.post(note('a', 4));
    await second.drained();
    expect(second.graph.applied.flat().flatMap(({ steps }) => steps)).toHaveLength(1);
    const undisturbed = openHere();
    await undisturbed.post(...notes('a', 5));
    await undisturbed.drained();
    expect(await second.graph.digest()).toEqual(await undisturbed.graph.digest());
    expect(second.queue.totals()).toMatchObject({ applied: 5, pending: 0 });
  });

  it('stops a key whose row is missing though a commit relied on it (C39)', async () => {
    const world = await drainedWorld();
    world.content.rows.delete(testKey('a'));
    const { queue, drain } = await stateOfA({ world });
    expect(drain.worker(testKey('a'))).toMatchObject({ state: 'mismatched' });
    expect(await queue.keyStatus(testKey('a'))).toMatchObject({ pending: 1, quarantine: null });
    expect(await queue.keyStatus(testKey('b'))).toMatchObject({ pending: 0 });
  });

  it('stops a key whose row stands before the last commit (C39)', async () => {
    const world = await drainedWorld(1);
    const before = world.content.rows.get(testKey('a'));
    const more = openHere({ world, generation: 2 });
    await more.post(...notes('a', 2, 1));
    await more.drained();
    more.crash();
    if (before !== undefined) world.content.rows.set(testKey('a'), before);
    const { drain } = await stateOfA({ world, generation: 3 });
    expect(drain.worker(testKey('a'))?.state).toBe('mismatched');
  });

  it('stops a key whose row names another record at the position (C37, T42)', async () => {
    const world = await drainedWorld();
    const row = world.content.rows.get(testKey('a'));
    if (row !== undefined) world.content.rows.set(testKey('a'), { ...row, sha256: 'f'.repeat(64) });
    const { drain, graph } = await stateOfA({ world });
    expect(drain.worker(testKey('a'))?.state).toBe('mismatched');
    expect(graph.applied.flat().map(({ key }) => key)).toEqual([testKey('b')]);
  });

  it('stops a key whose row stands ahead of its log, or where the log holds another record (C37)', async () => {
    const world = newWorld();
    const first = openHere({ world, isStarted: false });
    await first.queue.append(notes('a', 2));
    const status = await first.queue.keyStatus(testKey('a'));
    first.crash();
    const beyond = `${String(status?.end).slice(0, 9)}ffffffffffffff${String(status?.end).slice(23)}`;
    for (const position of [beyond, String(status?.end)]) {
      const row = { rootId: 'root', position: position as Position, sha256: '0'.repeat(64) };
      world.content.rows.set(testKey('a'), row);
      const generation = position === beyond ? 2 : 3;
      const { drain, crash } = await stateOfA({ world, generation });
      expect(drain.worker(testKey('a'))?.state, position).toBe('mismatched');
      crash();
    }
  });

  it('takes the row of another root for no fence and no progress (C38)', async () => {
    const world = await drainedWorld();
    const { drain } = await stateOfA({ world, rootId: 'another' });
    expect(drain.worker(testKey('a'))?.state).toBe('mismatched');
  });

  it('drains nothing at all into another graph than the root has met (ING-540, ING-541)', async () => {
    const fixture = openHere({ expectedGraphId: 'the graph of before' });
    await fixture.post(...notes('a', 2));
    await fixture.clock.advance(1000);
    expect(fixture.queue.totals()).toMatchObject({ pending: 2, applied: 0 });
    expect(fixture.drain.status().trouble).toMatchObject([{ code: 'GRAPH_MISMATCH' }]);
    const waiting = fixture.drain.idle(AbortSignal.abort(new Error('not idle')));
    await expect(waiting).rejects.toThrow('not idle');
  });

  it('drains a halted key again once it is resumed (ING-542)', async () => {
    const world = await drainedWorld();
    const row = world.content.rows.get(testKey('a'));
    world.content.rows.delete(testKey('a'));
    const { queue, drain, drained } = await stateOfA({ world });
    if (row !== undefined) world.content.rows.set(testKey('a'), row);
    drain.resume(testKey('a'));
    await drained();
    expect(queue.totals()).toMatchObject({ applied: 5, pending: 0 });
    expect(drain.status()).toMatchObject({ mismatchedKeys: 0, trouble: [] });
  });
});
