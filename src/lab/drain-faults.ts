import { assert, type MillraceError } from '#base';
import { createDrain, type Drain } from '#drain';
import { fenceLost, labPermit, labRootId } from '#fence';
import { graphUnavailable, mutationRefused, type GraphStore } from '#graph';
import { emptyMemoryGraph, openMemoryGraph, type MemoryGraphContent } from '#graph/memory';
import type { ObjectStore } from '#objects';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, stateUnavailable, type MemoryState, type StateStore } from '#state';
import { demand, demandEqual } from './demand.ts';
import { labDisk, openLabQueue } from './lab-queue.ts';
import { inputOf } from './model/events.ts';
import { over } from './over.ts';
import { failuresMax, type LabFailure, type Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';
import { simulatedClock } from './simulated-clock.ts';
import { deepMessage } from './try-sweep.ts';

/** What a store answers a call with that it does not carry out, or carries out and loses the answer of. */
export const storeTroubles = ['away', 'answer-lost', 'refused', 'fenced', 'state-away'] as const;
export type StoreTrouble = (typeof storeTroubles)[number];

export interface StoreFault {
  readonly trouble: StoreTrouble;
  /** Which call of the kind, 1 for the first. */
  readonly nth: number;
  /** How many of them. */
  readonly times: number;
}

/** Records of each of three sessions; none is poison by itself. */
const recordCount = 8;
const batchRecordsMax = 3;
const drainMsMax = 600_000;
const startsMax = 10;

interface Result {
  readonly digest: string;
  readonly dead: number;
  readonly calls: number;
}

/** Drains a small backlog while the nth call of a store fails; a daemon that was fenced is followed by another. */
export async function drainThrough(fault: StoreFault | undefined): Promise<Result> {
  const world = { disk: labDisk(), state: memoryState(), content: emptyMemoryGraph() };
  const counter = { calls: 0 };
  const { life: first, generation } = await start(world, fault, counter);
  await fill(first.queue);
  await first.run();
  await first.close();
  // What is on the disk must say so too, and a daemon that was fenced is followed by another.
  const last = await openLife(world, generation + 1, undefined, { calls: 0 });
  await last.run();
  const { accepted, applied, pending, dead, discarded } = last.queue.totals();
  demandEqual(accepted, applied + pending + dead + discarded, 'the residual is 0');
  demandEqual(pending, 0, 'a drain goes on to the end once the trouble is over');
  demandEqual(accepted, recordCount * 3, 'what was accepted stays accepted');
  const { digest } = await last.graph.digest();
  await last.close();
  return { digest, dead, calls: counter.calls };
}

/** A start that meets the trouble ends as a whole, and the next one is another daemon's. */
async function start(
  world: DrainWorld,
  fault: StoreFault | undefined,
  counter: { calls: number },
): Promise<{ readonly life: LifeOfDrain; readonly generation: number }> {
  for (let generation = 1; ; generation += 1) {
    try {
      return { life: await openLife(world, generation, fault, counter), generation };
    } catch (error) {
      if (!stateUnavailable.is(error) || generation > startsMax) throw error;
    }
  }
}

interface LifeOfDrain {
  readonly queue: FilesystemQueue;
  readonly graph: GraphStore;
  readonly stops: readonly MillraceError[];
  run(): Promise<void>;
  close(): Promise<void>;
}

interface DrainWorld {
  readonly disk: ReturnType<typeof labDisk>;
  readonly state: MemoryState;
  readonly content: MemoryGraphContent;
}

async function openLife(
  { disk, state, content }: DrainWorld,
  generation: number,
  fault: StoreFault | undefined,
  counter: { calls: number },
): Promise<LifeOfDrain> {
  const clock = simulatedClock();
  const permit = labPermit(generation);
  const stops: MillraceError[] = [];
  const graph = faultyGraph(openMemoryGraph({ rootId: labRootId, content }), fault, counter);
  const queue = await openLabQueue({
    disk,
    clock,
    permit,
    generation,
    state: faultyState(state, fault, counter),
  });
  const drain = createDrain(
    {
      queue,
      ledger: queue,
      graph,
      objects: noObjects,
      permit,
      rootId: labRootId,
      expectedGraphId: undefined,
      clock,
      chance: seededChance(generation),
      onStop: (error) => stops.push(error),
    },
    { settings: { batchRecordsMax, backoff: { baseMs: 10, maxMs: 100 } } },
  );
  return {
    queue,
    graph,
    stops,
    async run() {
      drain.start();
      for (let ms = 0; !isOver(queue, drain, stops) && ms < drainMsMax; ms += 100)
        await clock.advance(100);
    },
    async close() {
      await drain.stop(0);
      for (let ms = 0; queue.trouble().length > 0 && ms < drainMsMax; ms += 500)
        await clock.advance(500);
      // A clean stop that the trouble hits leaves what kill -9 would, and says so.
      await queue.close().catch((error: unknown) => {
        if (!stateUnavailable.is(error)) throw error;
      });
    },
  };
}

function isOver(queue: FilesystemQueue, drain: Drain, stops: readonly unknown[]): boolean {
  return stops.length > 0 || (queue.totals().pending === 0 && drain.status().groupsInFlight === 0);
}

async function fill(queue: FilesystemQueue): Promise<void> {
  for (let at = 0; at < recordCount; at += 1)
    await queue.append(
      ['a', 'b', 'c'].map((session, index) =>
        inputOf({ n: at * 3 + index, session, choice: 1 + (at % 9) }),
      ),
    );
}

/** Decides for each call of the kind whether it is one that fails. */
function hits(fault: StoreFault | undefined, counter: { calls: number }): boolean {
  if (fault === undefined) return false;
  counter.calls += 1;
  return counter.calls >= fault.nth && counter.calls < fault.nth + fault.times;
}

function faultyGraph(
  inner: GraphStore,
  fault: StoreFault | undefined,
  counter: { calls: number },
): GraphStore {
  const isOurs = fault !== undefined && fault.trouble !== 'state-away';
  const before = (): void => {
    if (!isOurs || fault.trouble === 'answer-lost' || !hits(fault, counter)) return;
    throw answerOf(fault.trouble);
  };
  return over(inner, {
    async armKeys(permit, keys) {
      if (isOurs && fault.trouble === 'away') before();
      return inner.armKeys(permit, keys);
    },
    async apply(permit, group) {
      before();
      await inner.apply(permit, group);
      if (isOurs && fault.trouble === 'answer-lost' && hits(fault, counter))
        throw graphUnavailable({ reason: 'the answer was lost' });
    },
  });
}

function answerOf(trouble: StoreTrouble): MillraceError {
  switch (trouble) {
    case 'refused':
      return mutationRefused({ session: 'any', reason: 'the laboratory says so' });
    case 'fenced':
      return fenceLost({ domain: `daemon:${labRootId}`, generation: 1 });
    default:
      return graphUnavailable({ reason: 'the laboratory says so' });
  }
}

function faultyState(
  inner: MemoryState,
  fault: StoreFault | undefined,
  counter: { calls: number },
): StateStore {
  const before = (): void => {
    if (fault?.trouble !== 'state-away' || !hits(fault, counter)) return;
    throw stateUnavailable({ place: 'the laboratory', reason: 'it says so' });
  };
  return over<StateStore>(inner, {
    async write(permit, writes) {
      before();
      await inner.write(permit, writes);
    },
    async flush() {
      before();
      await inner.flush();
    },
    close: () => Promise.resolve(),
  });
}

/** Nothing of these records is large enough to become an object. */
const noObjects: ObjectStore = {
  put: () => Promise.reject(new TypeError('no record of the run spills')),
  read: () => Promise.resolve(undefined),
  has: () => Promise.resolve(false),
  close: () => Promise.resolve(),
};

/** Each call of each kind fails in turn, once and for a while; the graph at the end is that of the undisturbed run. */
export async function tryDrainFaults(
  order: { readonly seed: number; readonly stride: number; readonly progress: Progress },
  count: (faults: number) => void,
): Promise<readonly LabFailure[]> {
  const undisturbed = await drainThrough(undefined);
  assert(undisturbed.dead === 0, 'the undisturbed run buries nothing');
  const failures: LabFailure[] = [];
  for (const trouble of storeTroubles)
    for (const times of [1, 4])
      for (let nth = 1; failures.length < failuresMax; nth += 1) {
        try {
          const { digest, dead, calls } = await drainThrough({ trouble, nth, times });
          if (calls < nth) break;
          count(1);
          demand(trouble === 'refused' || dead === 0, 'only a refusal makes dead letters', dead);
          if (dead === 0) demandEqual(digest, undisturbed.digest, 'the graph is the same');
        } catch (error) {
          failures.push({
            seed: order.seed,
            message: `${trouble} at call ${nth}, ${times} times: ${deepMessage(error)}`,
            replay: `millrace lab faults --seed ${order.seed} --every ${order.stride}`,
          });
        }
      }
  return failures;
}
