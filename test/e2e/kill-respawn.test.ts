import { describe, expect, it } from 'vitest';
import { killWhileStarting, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { seededChance } from '../support/chance.ts';
import {
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { eventCount, makeWorkload, type WorkloadBatch } from '../support/workload.ts';

/** 30 in every run, more in the long run. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 30);
const seed = Number(process.env['KILL_SEED'] ?? 1);
/** Small segments, so that rolls and checkpoints fall into the kills. */
const settings = ['--set', 'queue.segment_bytes=128KiB', '--log-level', 'warn'];

async function undisturbed(batches: readonly WorkloadBatch[]): Promise<Digest> {
  return withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root, args: settings });
    try {
      for (const { bodies } of batches) expect(await postLines(daemon.url, bodies)).toBe(202);
      await waitUntilIdle(daemon.url);
      return await readDigest(daemon.url);
    } finally {
      await daemon.kill();
    }
  });
}

/** Connections that post at the same time; a session's batches all go through one of them, in order. */
const laneCount = 3;

interface Lane {
  readonly batches: readonly WorkloadBatch[];
  /** How many of them were acknowledged. What was cut off is sent again. */
  done: number;
}

function lanesOf(batches: readonly WorkloadBatch[]): readonly Lane[] {
  const laneOf = (session: string): number => Number(session.split('-').at(-1)) % laneCount;
  return Array.from({ length: laneCount }, (_, at) => ({
    batches: batches.filter(({ session }) => laneOf(session) === at),
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

describe('kill -9 and respawn', () => {
  it(
    `loses nothing and doubles nothing over ${rounds} kills at random moments (P1, P3, P4, P5)`,
    async () => {
      const batches = makeWorkload({ seed, sessions: 12, turns: rounds, eventsPerBatch: 4 });
      const expected = await undisturbed(batches);
      const chance = seededChance(seed);
      await withTemporaryDirectory(async (root) => {
        const lanes = lanesOf(batches);
        for (let round = 0; round < rounds; round++) {
          const daemon = await startDaemon({ root, args: settings });
          const posting = postLanes(daemon, lanes, (round + 1) / rounds);
          await sleep(chance.float() * 250);
          await daemon.kill();
          await posting;
        }
        const daemon = await startDaemon({ root, args: settings });
        try {
          await postLanes(daemon, lanes, 1);
          await waitUntilIdle(daemon.url);
          const books = await readBooks(daemon.url);
          const digest = await readDigest(daemon.url);
          const told = `seed ${seed}\n${daemon.output()}`;
          expect(lanes.map(({ done }) => done)).toEqual(lanes.map((lane) => lane.batches.length));
          expect(books, told).toMatchObject({
            accepted: eventCount(batches),
            applied: eventCount(batches),
            pending: 0,
            dead: 0,
            residual: 0,
          });
          expect(digest, told).toEqual(expected);
          expect(await daemon.stop(), told).toBe(0);
        } finally {
          await daemon.kill();
        }
      });
    },
    60_000 + rounds * 5_000,
  );

  it('comes up again when it is killed while it starts and recovers (P4)', async () => {
    const batches = makeWorkload({ seed: seed + 1, sessions: 4, turns: 20, eventsPerBatch: 40 });
    const expected = await undisturbed(batches);
    const chance = seededChance(seed);
    await withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root, args: settings });
      await postLanes(first, lanesOf(batches), 1);
      await first.kill();
      for (let round = 0; round < 8; round++) {
        await killWhileStarting({ root, args: settings }, chance.float() * 400);
      }
      const daemon = await startDaemon({ root, args: settings });
      await waitUntilIdle(daemon.url);
      expect(await readDigest(daemon.url)).toEqual(expected);
      expect(await daemon.stop()).toBe(0);
    });
  }, 90_000);
});

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
