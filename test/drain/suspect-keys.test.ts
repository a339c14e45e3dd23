import { afterEach, describe, expect, it } from 'vitest';
import { suspectKeys } from '#drain';
import type { Key } from '#record';
import { copyMemoryGraph } from '#graph/memory';
import { testKey } from '../support/queue-fixtures.ts';
import { turn } from '../support/turn.ts';
import { newPlace, openLife, rootId, type Life, type Place } from './adopt-fixture.ts';
import { note } from './drain-fixture.ts';

const open: Life[] = [];

async function live(place: Place): Promise<Life> {
  const life = await openLife(place);
  open.push(life);
  return life;
}

afterEach(async () => {
  for (const life of open.splice(0)) await life.close().catch(() => undefined);
});

async function suspectsOf({ queue, graph, clock }: Life): Promise<readonly Key[]> {
  const signal = new AbortController().signal;
  const found: Key[] = [];
  const pass = suspectKeys({ bond: queue.bond, graph, rootId, clock }, signal);
  for (;;) {
    const next = pass.next();
    await turn();
    // Between two pages the pass sleeps.
    await clock.advance(20);
    const { done, value } = await next;
    if (done === true) return found;
    found.push(value);
  }
}

describe('a pass over queue and graph', () => {
  it('suspects nobody where both are of one time, and waits for no worker', async () => {
    const place = newPlace();
    const life = await live(place);
    await life.post(note('a', 0), note('b', 0));
    await life.drained();
    await life.queue.close();
    expect(await suspectsOf(await live(place))).toEqual([]);
  });

  it('finds sessions at rest whose graph has lost its last commits; their workers stand still and say so (ING-541, C39)', async () => {
    const place = newPlace();
    const first = await live(place);
    await first.post(note('a', 0), note('b', 0), note('c', 0));
    await first.drained();
    const older = copyMemoryGraph(place.graph);
    await first.post(note('b', 1), note('c', 1));
    await first.drained();
    await first.queue.close();
    place.graph = older;
    const life = await live(place);
    const found = await suspectsOf(life);
    expect(found).toEqual([testKey('b'), testKey('c')]);
    for (const key of found) life.drain.wake(key);
    while (life.drain.status().mismatchedKeys < 2) await life.clock.advance(10);
    expect(life.drain.status().trouble.map(({ code }) => code)).toEqual([
      'GRAPH_MISMATCH',
      'GRAPH_MISMATCH',
    ]);
    await life.post(note('a', 1));
    await life.drained();
    expect(life.queue.totals()).toMatchObject({ accepted: 6, pending: 0 });
  });
});
