import { afterEach, describe, expect, it } from 'vitest';
import type { Key } from '#record';
import { createKeyRepair } from '../../src/daemon/desk/key-repair.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { fakeClock } from '../support/clock.ts';
import { turn } from '../support/turn.ts';
import { emptyMemoryGraph } from '../support/memory-graph.ts';
import { newPlace, openLife, rootId, type Life, type Place } from '../drain/adopt-fixture.ts';
import { note } from '../drain/drain-fixture.ts';

const open: Life[] = [];

async function live(place: Place): Promise<Life> {
  const life = await openLife(place);
  open.push(life);
  return life;
}

afterEach(async () => {
  for (const life of open.splice(0)) await life.close().catch(() => undefined);
});

async function replay(life: Life, keys: readonly Key[]): Promise<void> {
  const { queue, graph, drain, clock, dependencies } = life;
  const { permit } = dependencies;
  const repair = createKeyRepair({ logs: queue, graph, permit, rootId, drain, clock });
  for (const key of keys) await repair.reset(key, { by: 'operator', operationId: `replay-${key}` });
}

/** A worker that stood at the end of the log is rebuilt after a wait. */
async function settled(life: Life): Promise<void> {
  const idle = life.drained();
  for (let second = 0; second < 10; second += 1) {
    await life.clock.advance(1000);
    await turn();
  }
  await idle;
}

const keys = [testKey('a'), testKey('b')];

async function posted(place: Place): Promise<Life> {
  const life = await live(place);
  await life.post(note('a', 0), note('b', 0), note('a', 1), note('b', 1));
  await life.drained();
  return life;
}

describe('a replay', () => {
  it('sets the queue back first and the row of the graph after it, while no transaction runs (ING-539)', async () => {
    const steps: string[] = [];
    const [key] = keys as [Key];
    const at = '00000000.00000000000000.e' as never;
    const repair = createKeyRepair({
      logs: {
        resetOffset: async () => {
          steps.push('queue');
          return { key, operationId: 'x', committed: at, before: at, applied: null, pending: 1 };
        },
      } as never,
      graph: { adopt: async () => void steps.push('graph') } as never,
      permit: undefined as never,
      rootId,
      drain: {
        pause: async () => {
          steps.push('pause');
          return () => steps.push('go on');
        },
        resume: () => steps.push('resume'),
      },
      clock: fakeClock(),
    });
    await repair.reset(key, { by: 'operator', operationId: 'x' });
    expect(steps).toEqual(['pause', 'queue', 'graph', 'go on', 'resume']);
  });

  it('changes nothing in a graph that holds all of it (P5, ING-219)', async () => {
    const life = await posted(newPlace());
    const before = await life.graph.digest();
    await replay(life, keys);
    expect((await life.queue.keyStatus(keys[0] as Key))?.pending).toBe(2);
    await settled(life);
    expect(await life.graph.digest()).toEqual(before);
    expect(life.queue.totals()).toMatchObject({ accepted: 4, applied: 4, pending: 0 });
  });

  it('tells an empty graph that was adopted all that the logs hold (ING-542, P12)', async () => {
    const place = newPlace();
    const first = await posted(place);
    const before = await first.graph.digest();
    await first.queue.close();
    place.graph = emptyMemoryGraph('another graph');
    const life = await live(place);
    await life.adopt();
    await life.drained();
    expect((await life.graph.digest()).nodes).toBe(0);
    await replay(life, keys);
    await settled(life);
    expect(await life.graph.digest()).toEqual(before);
  });

  it('that was cut off before the row of the graph was set is done again', async () => {
    const place = newPlace();
    const life = await posted(place);
    const [key] = keys as [Key];
    const before = await life.graph.digest();
    const letGo = await life.drain.pause(new AbortController().signal);
    await life.queue.resetOffset(key, { by: 'operator', operationId: 'cut off' });
    letGo();
    await settled(life);
    await replay(life, [key]);
    await settled(life);
    expect(await life.graph.digest()).toEqual(before);
    expect(life.drain.status().mismatchedKeys).toBe(0);
    expect(life.queue.totals()).toMatchObject({ applied: 4, pending: 0 });
  });
});
