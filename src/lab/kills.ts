import type { Chance, Clock } from '#base';
import { startDaemon, type ChildDaemon } from './child-daemon.ts';
import { postLines, readBooks, readDigest, waitUntilIdle, type Digest } from './daemon-client.ts';
import { demand, demandEqual } from './demand.ts';
import { eventCount, type WorkloadBatch } from './workload.ts';

/** Small segments, so that rolls and checkpoints fall into the kills. */
export const killArguments: readonly string[] = [
  '--set',
  'queue.segment_bytes=128KiB',
  '--log-level',
  'warn',
];
/** Connections that post at the same time; a session's batches all go through one of them, in order. */
const laneCount = 3;
/** Longest life of a daemon after it is ready. */
const lifeMsMax = 250;
const drainMsMax = 120_000;

interface Lane {
  readonly batches: readonly WorkloadBatch[];
  /** How many of them were acknowledged. What was cut off is sent again. */
  done: number;
}

/** The graph of a workload that nobody disturbs, on a root of its own. */
export async function undisturbed(
  root: string,
  batches: readonly WorkloadBatch[],
): Promise<Digest> {
  const daemon = await startDaemon({ root, args: killArguments });
  try {
    for (const { bodies } of batches)
      demandEqual(await postLines(daemon.url, bodies), 202, 'an undisturbed daemon takes events');
    await waitUntilIdle(daemon.url, drainMsMax);
    return await readDigest(daemon.url);
  } finally {
    await daemon.kill();
  }
}

export interface KillOrder {
  readonly root: string;
  readonly batches: readonly WorkloadBatch[];
  readonly expected: Digest;
  readonly rounds: number;
  readonly chance: Chance;
  readonly clock: Clock;
  readonly onRound?: (round: number) => void;
}

/** Kills a daemon over and over while three clients post, then lets one drain: nothing is missing and nothing came twice (P1, P3, P4, P5). */
export async function killAndRespawn(order: KillOrder): Promise<void> {
  const { root, batches, rounds, chance, clock, onRound } = order;
  const lanes = lanesOf(batches);
  for (let round = 0; round < rounds; round += 1) {
    const daemon = await startDaemon({ root, args: killArguments });
    const posting = postLanes(daemon, lanes, (round + 1) / rounds);
    await clock.sleep(chance.float() * lifeMsMax);
    // One in five is stopped first: what it began is left half way for a while.
    if (chance.float() < 0.2) daemon.freeze();
    await daemon.kill();
    await posting;
    onRound?.(round + 1);
  }
  await checkEnd(order, lanes);
}

async function checkEnd(
  { root, batches, expected }: KillOrder,
  lanes: readonly Lane[],
): Promise<void> {
  const daemon = await startDaemon({ root, args: killArguments });
  try {
    await postLanes(daemon, lanes, 1);
    await waitUntilIdle(daemon.url, drainMsMax);
    const { accepted, applied, pending, dead, residual } = await readBooks(daemon.url);
    demand(
      lanes.every((lane) => lane.done === lane.batches.length),
      'all is acknowledged in the end',
      daemon.output(),
    );
    const count = eventCount(batches);
    demandEqual(
      { accepted, applied, pending, dead, residual },
      { accepted: count, applied: count, pending: 0, dead: 0, residual: 0 },
      'each event was taken once and applied once',
    );
    demandEqual(await readDigest(daemon.url), expected, 'the graph is that of the undisturbed run');
    demandEqual(await daemon.stop(), 0, 'the last daemon stops in order');
  } finally {
    await daemon.kill();
  }
}

function lanesOf(batches: readonly WorkloadBatch[]): readonly Lane[] {
  const sessions = [...new Set(batches.map(({ session }) => session))];
  return Array.from({ length: laneCount }, (_, at) => ({
    batches: batches.filter(({ session }) => sessions.indexOf(session) % laneCount === at),
    done: 0,
  }));
}

/** Posts a lane on to `until` of its length, or to the first request that is not acknowledged. */
async function postLane(daemon: ChildDaemon, lane: Lane, until: number): Promise<void> {
  const end = Math.ceil(lane.batches.length * until);
  for (const { bodies } of lane.batches.slice(lane.done, end)) {
    if ((await postLines(daemon.url, bodies)) !== 202) return;
    lane.done += 1;
  }
}

function postLanes(daemon: ChildDaemon, lanes: readonly Lane[], until: number): Promise<unknown> {
  return Promise.all(lanes.map((lane) => postLane(daemon, lane, until)));
}
