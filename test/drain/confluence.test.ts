import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mutationRefused, type GraphDigest } from '#graph';
import type { AppendInput, QueueTotals } from '#queue';
import { testRecord } from '../support/queue-fixtures.ts';
import { makeWorkload } from '../support/workload.ts';
import {
  contradiction,
  holdsMark,
  newWorld,
  note,
  openDrain,
  type Faults,
  type World,
} from './drain-fixture.ts';

/** 40 in every run of the tests, any number on demand. */
const runs = Number(process.env['CONFLUENCE_RUNS'] ?? 40);

const mark = 'the store hates this';

/** Real shapes of work in a few sessions, among them records that the fold and records that the store refuses. */
function makeRecords(seed: number): readonly AppendInput[] {
  const batches = makeWorkload({ seed, sessions: 4, turns: 2, eventsPerBatch: 3 });
  const records = batches.flatMap(({ bodies }) =>
    bodies.map((body) => {
      const { event, data } = JSON.parse(body) as {
        event: string;
        data: Readonly<Record<string, unknown>> & { session_id: string };
      };
      return testRecord({ session: data.session_id, event, data });
    }),
  );
  return records.flatMap((record, at) => {
    if (at % 17 === 5) return [record, contradiction(record.session, at)];
    return at % 23 === 7 ? [record, note(record.session, at, { text: mark })] : [record];
  });
}

interface Crash {
  readonly place: 'beforeApply' | 'afterApply' | 'beforeCommit' | 'afterCommit';
  /** How often the place is passed before. */
  readonly after: number;
}

interface Run {
  readonly crashes: readonly Crash[];
  readonly batchRecordsMax: number;
  readonly groupRecordsMax: number;
  readonly writeConcurrency: number;
  /** Records of one append. */
  readonly appendCount: number;
}

interface Result {
  readonly digest: GraphDigest;
  readonly totals: QueueTotals;
  readonly dead: readonly string[];
}

function faultsOf(crash: Crash | undefined, die: () => void): Faults {
  let passed = 0;
  const dieAt = (place: Crash['place']) => (): void => {
    if (place !== crash?.place) return;
    passed += 1;
    if (passed > crash.after) die();
  };
  return {
    beforeApply(group) {
      dieAt('beforeApply')();
      if (holdsMark(group, mark)) throw mutationRefused({ session: 's', reason: mark });
    },
    afterApply: dieAt('afterApply'),
    beforeCommit: dieAt('beforeCommit'),
    afterCommit: dieAt('afterCommit'),
  };
}

/** One life of a daemon: appends, drains, and dies where it is told to. False when it lived to the end. */
async function live(
  world: World,
  run: Run,
  generation: number,
  records: AppendInput[],
): Promise<boolean> {
  const crash = run.crashes[generation - 1];
  const fate = { isDead: false, isIdle: false };
  const fixture = openDrain({
    world,
    generation,
    settings: { ...run, backoff: { baseMs: 1, maxMs: 1 } },
    faults: faultsOf(crash, () => {
      fate.isDead = true;
      fixture.crash();
    }),
  });
  while (records.length > 0 && !fate.isDead) {
    const next = records.slice(0, run.appendCount);
    await fixture.post(...next).then(
      () => records.splice(0, next.length),
      () => undefined,
    );
  }
  const idle = fixture.drained().then(
    () => (fate.isIdle = true),
    () => (fate.isDead = true),
  );
  for (let ms = 0; !fate.isIdle && !fate.isDead && ms < 5000; ms += 1)
    await fixture.clock.advance(1);
  expect(fate.isIdle || fate.isDead, 'a life ends').toBe(true);
  await fixture.drain.stop(0);
  await idle;
  return fate.isDead;
}

async function runAll(seed: number, run: Run): Promise<Result> {
  const world = newWorld();
  const records = [...makeRecords(seed)];
  for (let generation = 1; ; generation += 1) {
    const isDead = await live(world, run, generation, records);
    if (!isDead) break;
  }
  const last = openDrain({ world, generation: run.crashes.length + 2, isStarted: false });
  const keys = await last.queue.listKeys({ limit: 100 });
  const letters = await Promise.all(keys.map(({ key }) => last.queue.readDeadLetters(key)));
  const result = {
    digest: await last.graph.digest(),
    totals: last.queue.totals(),
    dead: letters.flat().map(({ key, sha256, error }) => `${key} ${sha256} ${error.code}`),
  };
  await last.close();
  return result;
}

const calm: Run = {
  crashes: [],
  batchRecordsMax: 100,
  groupRecordsMax: 1000,
  writeConcurrency: 1,
  appendCount: 1000,
};

const anyCrash = fc.record({
  place: fc.constantFrom<Crash['place'][]>(
    'beforeApply',
    'afterApply',
    'beforeCommit',
    'afterCommit',
  ),
  after: fc.nat(12),
});

const anyRun = fc.record({
  crashes: fc.array(anyCrash, { maxLength: 4 }),
  batchRecordsMax: fc.integer({ min: 1, max: 9 }),
  groupRecordsMax: fc.integer({ min: 1, max: 20 }),
  writeConcurrency: fc.integer({ min: 1, max: 4 }),
  appendCount: fc.integer({ min: 1, max: 30 }),
});

describe('confluence', () => {
  it('ends in one graph, one set of dead letters and balanced books, whatever the batch borders, groups and crashes (P4, P5, P12, ING-P02)', async () => {
    const expected = await runAll(1, calm);
    expect(expected.totals.pending).toBe(0);
    expect(expected.dead.length).toBeGreaterThan(5);
    const { accepted, applied, dead, discarded } = expected.totals;
    expect(accepted).toBe(applied + dead + discarded);
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const result = await runAll(1, run);
        expect(result.digest).toEqual(expected.digest);
        expect(result.dead.toSorted()).toEqual(expected.dead.toSorted());
        expect(result.totals).toMatchObject({ accepted, applied, dead, pending: 0 });
      }),
      { numRuns: runs },
    );
  });
});
