import { messageOf, type Clock } from '#base';
import { everyCrash, namedPowerLosses, recordingDisk, type NamedPowerLoss } from '#disk';
import { memoryState } from '#state';
import { eventfulLife, type History } from './history.ts';
import { labDisk } from './lab-queue.ts';
import { randomLife } from './random-life.ts';
import { checkCrash, checkInterruptedRecovery, live, named } from './recorded-life.ts';
import { failuresMax, type LabFailure, type LabReport, type Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';

export interface SweepOrder {
  readonly seed: number;
  /** Lives that are swept: the first is the scripted one, the others are by chance, from seed, seed + 1 … */
  readonly lives: number;
  /** Acts of a life by chance. */
  readonly acts: number;
  /** Ways in which unsynced sectors are torn, beside the four plain losses. */
  readonly torn: number;
  /** Share of the crashes after which the recovery is swept too (QFS-21). */
  readonly recoveryShare: number;
  /** False where the first life is by chance, too. */
  readonly isScripted?: boolean;
  readonly clock: Clock;
  readonly progress: Progress;
}

interface Counts extends Record<string, number> {
  steps: number;
  crashes: number;
  reopened: number;
}

/** `millrace lab sweep`: the power is lost after every step of the disk, in every way, and what is left is opened and checked (P1 to P4). */
export async function trySweep(order: SweepOrder): Promise<LabReport> {
  const { seed, lives, acts, clock, isScripted = true } = order;
  const began = clock.monotonic();
  const counts: Counts = { lives: 0, steps: 0, crashes: 0, reopened: 0 };
  const failures: LabFailure[] = [];
  for (let at = 0; at < lives && failures.length < failuresMax; at += 1) {
    const own = seed + at;
    const life = at === 0 && isScripted ? eventfulLife : randomLife(seededChance(own), acts);
    try {
      await sweepLife(order, own, life, counts);
    } catch (error) {
      failures.push({
        seed: own,
        message: deepMessage(error),
        replay: `millrace lab sweep --seed ${at === 0 ? seed : own - 1} --lives ${at === 0 ? 1 : 2}`,
      });
    }
    counts['lives'] = at + 1;
  }
  return { experiment: 'sweep', seed, counts, failures, durationMs: clock.monotonic() - began };
}

async function sweepLife(
  { torn, recoveryShare, progress }: SweepOrder,
  seed: number,
  life: (history: History) => Promise<void>,
  counts: Counts,
): Promise<void> {
  const losses = namedPowerLosses(torn, seededChance);
  const disk = recordingDisk(labDisk());
  const history = await live({ disk, state: memoryState(), generation: 1 }, life);
  await history.queue.close();
  counts.steps += disk.log.steps.length;
  const chance = seededChance(seed);
  for (const crash of everyCrash(disk.log, losses)) {
    counts.crashes += 1;
    counts.reopened += 1;
    const untouched = chance.float() < recoveryShare ? crash.disk.copy() : undefined;
    await named(crash, disk.log, () => checkCrash(crash, 2));
    if (untouched !== undefined)
      counts.reopened += await named(crash, disk.log, () =>
        checkInterruptedRecovery({ ...crash, disk: untouched }, cruel(losses)),
      );
    if (counts.crashes % 500 === 0)
      progress(`life ${seed}: ${counts.crashes} crashes, ${counts.reopened} states opened`);
  }
}

/** The two that take most: nothing that was not synced, and any part of it. */
function cruel(losses: readonly NamedPowerLoss[]): readonly NamedPowerLoss[] {
  return losses.filter(({ name }) => /bytes lost, entries lost|torn 1/.test(name));
}

/** An error with its causes, in one line. */
export function deepMessage(error: unknown): string {
  const own = messageOf(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? own : `${own}: ${deepMessage(cause)}`;
}
