import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { killAndRespawn, killArguments, undisturbed } from '../../src/lab/kills.ts';
import { seededChance } from '../support/chance.ts';
import { killWhileStarting, startDaemon } from '../support/child-daemon.ts';
import { postLines, readDigest, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { makeWorkload } from '../support/workload.ts';

/** 50 in every run, more in the long run. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 50);
const seed = Number(process.env['KILL_SEED'] ?? 1);

describe('kill -9 and respawn', () => {
  it(
    `loses nothing and doubles nothing over ${rounds} kills at random moments, some of a daemon that was stopped before (P1, P3, P4, P5)`,
    { timeout: 90_000 + rounds * 5_000 },
    async () => {
      const batches = makeWorkload({ seed, sessions: 12, turns: rounds, eventsPerBatch: 4 });
      const expected = await withTemporaryDirectory((root) => undisturbed(root, batches));
      const chance = seededChance(seed);
      await withTemporaryDirectory((root) =>
        killAndRespawn({ root, batches, expected, rounds, chance, clock: systemClock }),
      );
    },
  );

  it('comes up again when it is killed while it starts and recovers (P4)', async () => {
    const batches = makeWorkload({ seed: seed + 1, sessions: 4, turns: 20, eventsPerBatch: 40 });
    const expected = await withTemporaryDirectory((root) => undisturbed(root, batches));
    const chance = seededChance(seed);
    await withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root, args: killArguments });
      for (const { bodies } of batches) expect(await postLines(first.url, bodies)).toBe(202);
      await first.kill();
      for (let round = 0; round < 8; round++) {
        await killWhileStarting({ root, args: killArguments }, chance.float() * 400);
      }
      const daemon = await startDaemon({ root, args: killArguments });
      await waitUntilIdle(daemon.url);
      expect(await readDigest(daemon.url)).toEqual(expected);
      expect(await daemon.stop()).toBe(0);
    });
  }, 90_000);
});
