import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as afterFailureModule from '../../src/drain/worker/after-failure.ts';
import type * as compareRowModule from '../../src/drain/arm/compare-row.ts';
import type * as createDrainModule from '../../src/drain/create-drain.ts';
import type * as armWorkerModule from '../../src/drain/arm/arm-worker.ts';
import type * as deliverModule from '../../src/drain/worker/deliver.ts';
import type * as isolateModule from '../../src/drain/worker/isolate.ts';
import type * as planBatchModule from '../../src/drain/fold/plan-batch.ts';
import type * as planChunksModule from '../../src/drain/fold/plan-chunks.ts';
import type * as fixtureModule from './drain-fixture.ts';

/** Drains with one defect each: its guard has to turn red on it, and stay green on the real one (ING-T00). */

type Fixtures = typeof fixtureModule;
type Guard = (fixtures: Fixtures) => Promise<void>;

const mark = 'the store hates this';
const key = 'w~a';

/** Of one run: whether anything died, in which order things came, and the books at its end. */
async function run(
  { openDrain, note, holdsMark }: Fixtures,
  options: { readonly bad: readonly number[]; readonly outageMs?: number },
): Promise<{
  readonly order: readonly string[];
  readonly dead: number;
  readonly applied: number;
  readonly digest: string;
}> {
  const { graphUnavailable, mutationRefused } = await import('#graph');
  const order: string[] = [];
  let isAway = false;
  const fixture = openDrain({
    faults: {
      beforeApply(group) {
        if (isAway) throw graphUnavailable({ reason: 'away' });
        if (holdsMark(group, mark)) throw mutationRefused({ session: 'a', reason: mark });
      },
      afterApply(group) {
        for (const { steps } of group) order.push(...steps.map(({ at }) => `applied ${at}`));
      },
      afterCommit: () => order.push('committed'),
    },
  });
  try {
    await fixture.post(note('a', 0));
    await fixture.drained();
    isAway = options.outageMs !== undefined;
    const records = Array.from({ length: 12 }, (_, at) =>
      note('a', at + 1, options.bad.includes(at) ? { text: mark } : {}),
    );
    await fixture.post(...records);
    if (options.outageMs !== undefined) await fixture.clock.advance(options.outageMs);
    isAway = false;
    for (let ms = 0; fixture.queue.totals().pending > 0 && ms < 120_000; ms += 100)
      await fixture.clock.advance(100);
    const { dead, applied } = fixture.queue.totals();
    const { digest } = await fixture.graph.digest();
    return { order, dead, applied, digest };
  } finally {
    await fixture.close();
  }
}

const outage: Guard = async (fixtures) => {
  const { dead, applied } = await run(fixtures, { bad: [], outageMs: 60_000 });
  expect({ dead, applied }).toEqual({ dead: 0, applied: 13 });
};

const inOrder: Guard = async (fixtures) => {
  const { order, dead } = await run(fixtures, { bad: [4] });
  const applied = order.filter((what) => what !== 'committed');
  expect(applied).toEqual(applied.toSorted());
  expect({ dead, applied: applied.length }).toEqual({ dead: 1, applied: 12 });
};

const committedFirst: Guard = async (fixtures) => {
  const { order, dead } = await run(fixtures, { bad: [0] });
  // The first record and its commit; then the letter's commit, before anything behind it.
  expect(order.slice(0, 3)).toEqual([expect.stringMatching(/^applied/), 'committed', 'committed']);
  expect(dead).toBe(1);
};

const noTrace: Guard = async (fixtures) => {
  const { digest } = await run(fixtures, { bad: [0] });
  const { openDrain, note } = fixtures;
  const clean = openDrain();
  try {
    const at = [0, ...Array.from({ length: 11 }, (_, number) => number + 2)];
    await clean.post(...at.map((number) => note('a', number)));
    await clean.drained();
    expect(digest).toBe((await clean.graph.digest()).digest);
  } finally {
    await clean.close();
  }
};

/** Runs a second daemon over what a first has left, after `spoil`. */
async function secondLife(
  { openDrain, note, notes }: Fixtures,
  spoil: (world: fixtureModule.World) => void,
  onFold: () => void = () => undefined,
): Promise<string | undefined> {
  const { fold: foldOfHandlers } = await import('#handlers');
  const first = openDrain();
  await first.post(...notes('a', 3));
  await first.drained();
  first.crash();
  spoil(first.world);
  const second = openDrain({
    world: first.world,
    generation: 2,
    fold(...given) {
      onFold();
      return foldOfHandlers(...given);
    },
  });
  try {
    await second.post(note('a', 9));
    const state = (): string | undefined => second.drain.worker(key as never)?.state;
    for (let ms = 0; !/idle|quarantined|mismatched/.test(state() ?? '') && ms < 5000; ms += 100)
      await second.clock.advance(100);
    return state();
  } finally {
    await first.close().catch(() => undefined);
    await second.close();
  }
}

const digestsCompared: Guard = async (fixtures) => {
  const state = await secondLife(fixtures, ({ content }) => {
    const row = content.rows.get(key as never);
    if (row !== undefined) content.rows.set(key as never, { ...row, sha256: 'f'.repeat(64) });
  });
  expect(state).toBe('mismatched');
};

const foreignRows: Guard = async (fixtures) => {
  let folds = 0;
  const spoil = ({ content }: fixtureModule.World): void => {
    const row = content.rows.get(key as never);
    if (row !== undefined) content.rows.set(key as never, { ...row, rootId: 'another' });
  };
  const state = await secondLife(fixtures, spoil, () => (folds += 1));
  // The store would refuse it too; it has to be noticed before the first fold.
  expect({ state, folds }).toEqual({ state: 'mismatched', folds: 0 });
};

const otherGraph: Guard = async ({ openDrain, note }) => {
  const fixture = openDrain({ expectedGraphId: 'the graph of before' });
  try {
    await fixture.post(note('a', 0));
    await fixture.clock.advance(2000);
    expect(fixture.queue.totals()).toMatchObject({ pending: 1, applied: 0 });
  } finally {
    await fixture.close();
  }
};

const wholeCursor: Guard = async (fixtures) => {
  const state = await secondLife(fixtures, ({ store }) => {
    const stored = store.keys.get(key as never);
    if (stored?.cursorText === undefined || stored.cursorText === null) return;
    const cursor = JSON.parse(stored.cursorText) as { layer3: { skills: unknown } };
    cursor.layer3.skills = 'none';
    stored.cursorText = JSON.stringify(cursor);
  });
  expect(state).toBe('quarantined');
};

interface Mutant {
  readonly defect: string;
  readonly guard: Guard;
  readonly module: string;
  readonly change: (real: never) => object;
}

const mutants: readonly Mutant[] = [
  {
    defect: 'an outage uses up the budget (T24)',
    guard: outage,
    module: 'worker/after-failure',
    change: (real: typeof afterFailureModule) => ({
      afterFailure: (disposition: 'retry') =>
        disposition === 'retry' ? 'isolate' : real.afterFailure(disposition),
    }),
  },
  {
    defect: 'the second half goes before the first (T32)',
    guard: inOrder,
    module: 'fold/plan-chunks',
    change: (real: typeof planChunksModule) => ({
      planHalves: (refused: readonly unknown[]) => real.planHalves(refused).toReversed(),
    }),
  },
  {
    defect: 'a refused group dies as a whole (T32)',
    guard: inOrder,
    module: 'worker/isolate',
    change: () => ({
      async isolate(
        ...[engine, worker, , refused, error]: Parameters<typeof isolateModule.isolate>
      ) {
        const { bury } = await import('../../src/drain/worker/deliver.ts');
        for (const { item, before } of refused)
          await bury(engine, worker, { item, before, attempts: 1, error, isDefect: false });
        return { kind: 'done' };
      },
    }),
  },
  {
    defect: 'dead letters wait for a later commit (T31)',
    guard: committedFirst,
    module: 'worker/deliver',
    change: () => ({
      bury: async (
        _engine: unknown,
        worker: Parameters<typeof deliverModule.bury>[1],
        { before }: deliverModule.DeadRecord,
      ) => {
        if (worker.baseline !== undefined) worker.baseline = { ...worker.baseline, cursor: before };
      },
    }),
  },
  {
    defect: 'records behind a dead one keep the cursor that had seen it (T33)',
    guard: noTrace,
    module: 'fold/plan-batch',
    change: (real: typeof planBatchModule) => ({
      planBatch(input: planBatchModule.PlanInput) {
        const plan = real.planBatch(input);
        return { ...plan, steps: plan.steps.map((step) => ({ ...step, before: step.cursor })) };
      },
    }),
  },
  {
    defect: 'positions are compared and digests are not (T42)',
    guard: digestsCompared,
    module: 'arm/compare-row',
    change: () => ({
      compareRow: (row: { readonly position: string } | null) => ({
        kind: 'match',
        appliedThrough: row?.position ?? null,
      }),
    }),
  },
  {
    defect: 'a row of another root is taken for ours (T42)',
    guard: foreignRows,
    module: 'arm/compare-row',
    change: (real: typeof compareRowModule) => ({
      compareRow: (...[row, log]: Parameters<typeof real.compareRow>) =>
        real.compareRow(row === null ? null : { ...row, rootId: log.rootId }, log),
    }),
  },
  {
    defect: 'the id of the graph is not looked at (T42)',
    guard: otherGraph,
    module: 'create-drain',
    change: (real: typeof createDrainModule) => ({
      createDrain: (...[needs, options]: Parameters<typeof real.createDrain>) =>
        real.createDrain({ ...needs, expectedGraphId: undefined }, options),
    }),
  },
  {
    defect: 'a cursor is taken as it comes (T10)',
    guard: wholeCursor,
    module: 'arm/arm-worker',
    change: (real: typeof armWorkerModule) => ({
      armWorker: async (engine: Parameters<typeof real.armWorker>[0], armed: never) => ({
        kind: 'armed',
        baseline: {
          cursor: (await engine.queue.readCursor(armed)) ?? (await import('#record')).emptyCursor(),
          position: (await engine.ledger.keyStatus(armed))?.committed,
          appliedThrough: null,
        },
      }),
    }),
  },
];

async function freshFixtures(): Promise<Fixtures> {
  vi.resetModules();
  return (await import('./drain-fixture.ts')) as Fixtures;
}

afterEach(() => {
  for (const { module } of mutants) vi.doUnmock(`../../src/drain/${module}.ts`);
});

describe('drains that are broken on purpose', () => {
  it('are told from the real one, on which every guard is green', async () => {
    const fixtures = await freshFixtures();
    for (const guard of new Set(mutants.map((mutant) => mutant.guard))) await guard(fixtures);
  });

  for (const { defect, guard, module, change } of mutants) {
    it(`are found: ${defect}`, async () => {
      vi.doMock(`../../src/drain/${module}.ts`, async (original) => {
        const real = await original<object>();
        return { ...real, ...change(real as never) };
      });
      const fixtures = await freshFixtures();
      await expect(guard(fixtures)).rejects.toThrow(/expected/);
    });
  }
});
