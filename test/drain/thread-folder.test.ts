import { afterEach, describe, expect, it } from 'vitest';
import { MillraceError, systemChance, systemClock } from '#base';
import { stepsOf, type AnyPart } from '#graph';
import { fold } from '#handlers';
import type { AppendInput, BatchItem } from '#queue';
import { emptyCursor, type Position } from '#record';
import type { Folder, FoldInput } from '../../src/drain/fold/folder.ts';
import { isPacked, packPlan, type PackedPlan } from '../../src/drain/fold/packed-plan.ts';
import { planBatch } from '../../src/drain/fold/plan-batch.ts';
import { unpaced } from '../../src/drain/pace/drain-pace.ts';
import { drainSettingsDefault } from '../../src/drain/settings.ts';
import { threadFolder } from '../../src/drain/fold/thread-folder.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';
import { makeWorkload } from '../support/workload.ts';
import { contradiction, note, notes, openDrain, type DrainFixture } from './drain-fixture.ts';

const limits = {
  records: drainSettingsDefault.groupRecordsMax,
  bytes: drainSettingsDefault.groupBytesMax,
};

function position(at: number): Position {
  return `00000000.${at.toString(16).padStart(14, '0')}.e` as Position;
}

function inputOf(session: string, records: readonly AppendInput[]): FoldInput {
  const items: readonly BatchItem[] = records.map(({ raw }, at) => ({
    raw,
    at: position(at),
    after: position(at + 1),
  }));
  return {
    key: testKey(session),
    cursor: emptyCursor(),
    items,
    appliedThrough: null,
    spillBytes: 1024,
  };
}

/** Logs of a few sessions with all that a workload has, and one large value. */
function workload(): readonly FoldInput[] {
  const logs = new Map<string, AppendInput[]>();
  for (const { bodies } of makeWorkload({ seed: 3, sessions: 5, turns: 2, eventsPerBatch: 10 }))
    for (const body of bodies) {
      const { event, data } = JSON.parse(body) as {
        event: string;
        data: Readonly<Record<string, unknown>> & { session_id: string };
      };
      const session = data.session_id;
      const log = logs.get(session) ?? [];
      logs.set(session, log);
      log.push(testRecord({ session, event, data }));
    }
  const large = note('large', 1, { text: 'x'.repeat(5000), other: ['ü', '\u2028', 2 ** 53] });
  return [
    ...[...logs].map(([session, log]) => inputOf(session, log)),
    inputOf('large', [large, large]),
  ];
}

const folders: Folder[] = [];
const fixtures: DrainFixture[] = [];

function openFolder(): Folder {
  const folder = threadFolder({
    clock: systemClock,
    chance: systemChance,
    settings: drainSettingsDefault,
    pace: unpaced,
  });
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.close();
  for (const fixture of fixtures.splice(0)) await fixture.close();
});

function packedHere(input: FoldInput): PackedPlan {
  const packed = packPlan(planBatch({ ...input, fold }), limits);
  if (packed === undefined) throw new Error('this batch can be packed');
  return packed;
}

/** Views of memory that crossed from another thread have other offsets; what counts is their bytes. */
function bytesOnly({ packed, values, ...plan }: PackedPlan): unknown {
  return {
    ...plan,
    packed: Buffer.from(packed).toString(),
    values: values.map(({ bytes, ...value }) => ({
      ...value,
      bytes: Buffer.from(bytes).toString(),
    })),
  };
}

describe('folding in a thread', () => {
  it('gives the plans that are made here, batches of several keys at once (P12, ING-P05)', async () => {
    const folder = openFolder();
    const inputs = workload();
    const plans = await Promise.all(inputs.map(async (input) => folder.plan(input)));
    for (const [index, input] of inputs.entries()) {
      const plan = plans[index];
      if (plan === undefined || !isPacked(plan)) throw new Error('it came packed');
      expect(bytesOnly(plan)).toEqual(bytesOnly(packedHere(input)));
    }
    expect(plans.some((plan) => isPacked(plan) && plan.values.length > 0)).toBe(true);
  });

  it('leaves a batch with a record that cannot be folded to be planned step by step (ING-535)', async () => {
    const records = [...notes('a', 3), contradiction('a', 3), note('a', 4)];
    const plan = await openFolder().plan(inputOf('a', records));
    if (isPacked(plan)) throw new Error('it ends early');
    expect(plan.steps).toHaveLength(3);
    expect(plan.end).toMatchObject({ kind: 'poison', item: { at: position(3) } });
  });

  it('folds here what the graph may hold in part, for its cursor (ING-539)', async () => {
    const input = { ...inputOf('a', notes('a', 4)), appliedThrough: position(2) };
    const plan = await openFolder().plan(input);
    if (isPacked(plan)) throw new Error('it is not all new');
    expect(plan).toMatchObject({ resent: { count: 2 }, steps: { length: 2 } });
  });

  it('folds here when there is no thread', async () => {
    const folder = openFolder();
    await folder.close();
    const plan = await folder.plan(inputOf('a', notes('a', 4)));
    if (isPacked(plan)) throw new Error('the thread is gone');
    expect(plan.steps).toHaveLength(4);
  });

  it('packs nothing that is too large for one transaction (ING-854)', () => {
    const plan = planBatch({ ...inputOf('a', notes('a', 4)), fold });
    expect(packPlan(plan, { ...limits, records: 3 })).toBeUndefined();
    expect(packPlan(plan, { ...limits, bytes: 10 })).toBeUndefined();
    expect(packPlan(plan, { records: 4, bytes: limits.bytes })?.records).toBe(4);
  });
});

describe('a drain whose records are folded in a thread', () => {
  it('applies every record once and in order, of many keys at the same time (P3, P4)', async () => {
    const fixture = openDrain({ isThreaded: true });
    fixtures.push(fixture);
    const sessions = ['a', 'b', 'c'];
    for (let from = 0; from < 120; from += 40)
      await fixture.post(...sessions.flatMap((session) => notes(session, 40, from)));
    await fixture.drained();
    const groups: readonly (readonly AnyPart[])[] = fixture.graph.applied;
    for (const session of sessions) {
      const parts = groups.flat().filter(({ key }) => key === testKey(session));
      const positions = parts.flatMap(stepsOf).map(({ after }) => after);
      expect(positions).toHaveLength(120);
      expect(positions).toEqual(positions.toSorted());
    }
    expect(fixture.queue.totals()).toMatchObject({ accepted: 360, applied: 360 });
  });

  it('cuts a packed batch that the store refuses down to its record, and goes on behind it (P5, ING-537)', async () => {
    const mark = 'the store hates this';
    const refuse = (group: readonly AnyPart[]): void => {
      const isMarked = group.flatMap(stepsOf).some((step) => JSON.stringify(step).includes(mark));
      if (isMarked) throw new MillraceError('MUTATION_REFUSED', 'poison', 'refused', {});
    };
    const faults = { beforeApply: refuse };
    const fixture = openDrain({ isThreaded: true, faults, isStarted: false });
    fixtures.push(fixture);
    const records = notes('a', 20).map((one, at) =>
      at === 7 ? note('a', 7, { text: mark }) : one,
    );
    await fixture.post(...records);
    fixture.drain.start();
    await expect
      .poll(
        async () => {
          await fixture.clock.advance(1000);
          return fixture.queue.totals();
        },
        { timeout: 30_000 },
      )
      .toMatchObject({ accepted: 20, applied: 19, dead: 1 });
  });
});
