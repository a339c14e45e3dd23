import { afterEach, describe, expect, it } from 'vitest';
import { batchCommitted } from '#signals';
import { testKey } from '../support/queue-fixtures.ts';
import {
  contradiction,
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

describe('drain', () => {
  it('applies and commits what was appended, in order, with the books balanced (P3, P4)', async () => {
    const { post, drained, queue, graph } = openHere();
    await post(...notes('a', 250), ...notes('b', 3));
    await drained();
    expect(queue.totals()).toMatchObject({ accepted: 253, applied: 253, pending: 0, dead: 0 });
    const positions = graph.applied.flatMap((group) =>
      group
        .filter(({ key }) => key === testKey('a'))
        .flatMap(({ steps }) => steps.map(({ at }) => at)),
    );
    expect(positions).toHaveLength(250);
    expect(positions).toEqual(positions.toSorted());
  });

  it('takes several keys into one transaction and counts the commit per key (ING-531)', async () => {
    const { post, drained, graph } = openHere();
    const sessions = Array.from({ length: 40 }, (_, at) => `s${at}`);
    await post(...sessions.flatMap((session) => notes(session, 2)));
    await drained();
    expect(graph.applied.length).toBeLessThan(40);
    expect(graph.applied.flat()).toHaveLength(40);
  });

  it('goes on behind a record whose time of acceptance is no time, and tells no lag of it (P7)', async () => {
    const { post, drained, queue } = openHere();
    const lags: number[] = [];
    const end = batchCommitted.subscribe(({ lagMs }) => lags.push(lagMs));
    const one = note('a', 0);
    const raw = Buffer.from(
      Buffer.from(one.raw)
        .toString('utf8')
        .replace(/"at":"[^"]*"/, '"at":"yesterday"'),
    );
    expect(raw.includes('yesterday')).toBe(true);
    await post({ ...one, raw }, note('b', 0));
    await drained();
    end();
    expect(queue.totals()).toMatchObject({ applied: 2, pending: 0 });
    expect(lags).toContain(0);
    expect(lags.every(Number.isFinite)).toBe(true);
  });

  it('drains what a lost wake left, by the sweep alone (ING-416)', async () => {
    const { queue, drained, clock, drain } = openHere();
    await drained();
    await queue.append(notes('a', 3));
    expect(queue.totals().pending).toBe(3);
    await clock.advance(250);
    await drain.idle(AbortSignal.timeout(30_000));
    expect(queue.totals()).toMatchObject({ applied: 3, pending: 0 });
  });

  it('drains at its start what a former daemon left (ING-820)', async () => {
    const first = openHere({ isStarted: false });
    await first.post(...notes('a', 5), ...notes('b', 5));
    first.crash();
    const { drained, queue } = openHere({ world: first.world, generation: 2 });
    await drained();
    expect(queue.totals()).toMatchObject({ applied: 10, pending: 0 });
  });

  it('buries a record that contradicts itself, whole, and goes on behind it (D28)', async () => {
    const { post, drained, queue } = openHere();
    const poison = contradiction('a', 1);
    await post(note('a', 0), poison, note('a', 2));
    await drained();
    expect(queue.totals()).toMatchObject({ accepted: 3, applied: 2, dead: 1, pending: 0 });
    const [letter] = await queue.readDeadLetters(testKey('a'));
    expect(letter).toMatchObject({ attempts: 1, error: { code: 'EVENT_CONTRADICTS' } });
    expect(Buffer.from(letter?.payload ?? []).equals(poison.raw)).toBe(true);
  });

  it('gives the same graph as if the dead record had never been (ING-538, T33)', async () => {
    const withPoison = openHere({ settings: { batchRecordsMax: 50 } });
    await withPoison.post(...notes('a', 5), contradiction('a', 5), ...notes('a', 5, 6));
    await withPoison.drained();
    const without = openHere();
    await without.post(...notes('a', 5), ...notes('a', 5, 6));
    await without.drained();
    expect(await withPoison.graph.digest()).toEqual(await without.graph.digest());
  });

  it('turns a fold that throws into a dead letter with an alert, not a crash (ING-536)', async () => {
    const { post, drained, queue } = openHere({
      fold() {
        throw new TypeError('a bug in a handler');
      },
    });
    await post(note('a', 0));
    await drained();
    const [letter] = await queue.readDeadLetters(testKey('a'));
    expect(letter?.error.code).toBe('HANDLER_FAILED');
    expect(queue.totals()).toMatchObject({ dead: 1, pending: 0 });
  });

  it('stores large values as objects before the graph refers to them (D30)', async () => {
    const order: string[] = [];
    const { post, drained, world } = openHere({
      faults: { beforePut: () => order.push('put'), beforeApply: () => void order.push('apply') },
    });
    await post(note('a', 0, { text: 'x'.repeat(100_000) }));
    await drained();
    expect(order).toEqual(['put', 'apply']);
    expect(world.objects.size).toBe(1);
  });

  it('cuts a batch above the limit of a transaction at record boundaries (ING-854)', async () => {
    const { post, drained, graph, queue } = openHere({ settings: { groupBytesMax: 20_000 } });
    await post(...Array.from({ length: 20 }, (_, at) => note('a', at, { text: 'x'.repeat(5000) })));
    await drained();
    expect(graph.applied.length).toBeGreaterThan(5);
    expect(queue.totals().applied).toBe(20);
  });

  it('tells a waiter when a position is applied, also when it was before it asked', async () => {
    const { post, drain, queue } = openHere();
    const key = testKey('a');
    await post(...notes('a', 3));
    const { end } = (await queue.keyStatus(key)) ?? { end: '' };
    const signal = AbortSignal.timeout(30_000);
    await drain.waitApplied(key, end as never, signal);
    expect((await queue.keyStatus(key))?.pending).toBe(0);
    await drain.waitApplied(key, end as never, signal);
  });

  it('lets a wait end with its own signal and keeps nothing of it', async () => {
    const { drain, queue } = openHere({ isStarted: false });
    await queue.append(notes('a', 1));
    const { end } = (await queue.keyStatus(testKey('a'))) ?? { end: '' };
    const controller = new AbortController();
    const waiting = drain.waitApplied(testKey('a'), end as never, controller.signal);
    const idle = drain.idle(controller.signal);
    controller.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await expect(idle).rejects.toThrow('given up');
  });
});
