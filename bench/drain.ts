import { systemChance, systemClock } from '#base';
import { nodeDisk } from '#disk';
import { createDrain, type Drain } from '#drain';
import type { GraphStore } from '#graph';
import { openLocalObjects, type ObjectStore } from '#objects';
import { stagingNames } from '#disk';
import type { AppendInput } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { encodeKey } from '#record';
import { testPermit } from '../test/support/queue-fixtures.ts';
import { makeWorkload } from '../test/support/workload.ts';
import { join } from 'node:path';
import { applyBare, workloadGroups } from './graph-apply.ts';
import { benchRootId, withGraph, withQueue } from './place.ts';
import {
  interleave,
  median,
  rounded,
  spread,
  type BenchOptions,
  type Question,
} from './question.ts';

/** From records that wait in the queue to a committed graph: read, fold, apply, commit; against bare upserts of the same rows. */
export const drain: Question = {
  name: 'drain',
  asks: 'records per second from the queue to the committed graph, against bare upserts of the same rows on one thread',
  run,
};

async function run(options: BenchOptions): Promise<{ figures: Record<string, number> }> {
  const records = inputsOf(options);
  const groups = workloadGroups(options);
  const { a, b } = await interleave(
    options.rounds,
    () => withQueue(nodeDisk(), ({ directory, queue }) => drainAll(directory, queue, records)),
    () => applyBare(groups),
  );
  const ratios = a.map((rate, at) => rate / (b[at]?.eventsPerSecond ?? 1));
  return {
    figures: {
      records: records.length,
      drained_per_second: Math.round(median(a)),
      bare_per_second: Math.round(median(b.map(({ eventsPerSecond }) => eventsPerSecond))),
      ratio: rounded(median(ratios)),
      ratio_spread: rounded(spread(ratios)),
    },
  };
}

/** The records of the graph's bench, as ingest appends them. */
function inputsOf({ isSmoke }: BenchOptions): readonly AppendInput[] {
  const batches = makeWorkload({
    seed: 7,
    sessions: 100,
    turns: isSmoke ? 2 : 20,
    eventsPerBatch: 100,
  });
  return batches.flatMap(({ session, bodies }) =>
    bodies.map((body): AppendInput => {
      const { event, workspace, data } = JSON.parse(body) as {
        event: string;
        workspace: string;
        data: unknown;
      };
      const line = { v: 1, sid: session, at: '2026-01-01T00:00:00.000Z', ws: workspace, by: null };
      const raw = Buffer.from(JSON.stringify({ ...line, ev: event, data }));
      return { key: encodeKey(workspace, session), workspace, session, raw, principal: 'bench' };
    }),
  );
}

async function drainAll(
  directory: string,
  queue: FilesystemQueue,
  records: readonly AppendInput[],
): Promise<number> {
  for (let at = 0; at < records.length; at += 1000)
    await queue.append(records.slice(at, at + 1000));
  return withGraph(directory, async (graph) => {
    const objects = await openLocalObjects({
      directory: join(directory, 'objects'),
      disk: nodeDisk(),
      chance: systemChance,
      names: stagingNames(process.pid, systemChance),
    });
    const work = openDrain(queue, graph, objects);
    const began = performance.now();
    work.start();
    await work.idle(new AbortController().signal);
    const perSecond = records.length / ((performance.now() - began) / 1000);
    await work.stop(10_000);
    await objects.close();
    return perSecond;
  });
}

function openDrain(queue: FilesystemQueue, graph: GraphStore, objects: ObjectStore): Drain {
  return createDrain(
    {
      queue,
      ledger: queue,
      graph,
      objects,
      permit: testPermit(),
      rootId: benchRootId,
      expectedGraphId: undefined,
      clock: systemClock,
      chance: systemChance,
      onStop(error) {
        throw error;
      },
    },
    { isThreaded: true },
  );
}
