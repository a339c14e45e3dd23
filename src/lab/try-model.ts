import { messageOf, type Clock } from '#base';
import { describeCommand, planCommands, type Command } from './model/command.ts';
import { runModel } from './model/run-model.ts';
import { failuresMax, type LabFailure, type LabReport, type Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';
import { shorten } from './shorten.ts';

/** Commands of one run: a new root each, so that a failure is found again from its own seed. */
export const commandsPerRun = 200;

export interface ModelOrder {
  readonly commands: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly progress: Progress;
}

/** `millrace lab model`: runs of commands against the queue and the model, one seed each (ING-P01). */
export async function tryModel({
  commands,
  seed,
  clock,
  progress,
}: ModelOrder): Promise<LabReport> {
  const began = clock.monotonic();
  const counts = { commands: 0, runs: 0, records: 0, crashes: 0 };
  const failures: LabFailure[] = [];
  for (let own = seed; counts.commands < commands && failures.length < failuresMax; own += 1) {
    const plan = planCommands(
      seededChance(own),
      Math.min(commandsPerRun, commands - counts.commands),
    );
    counts.commands += plan.length;
    counts.runs += 1;
    try {
      const run = await runModel(plan, own);
      counts.records += run.records;
      counts.crashes += run.crashes;
    } catch (error) {
      failures.push(await explain(plan, own, error));
    }
    progress(`${counts.commands} of ${commands} commands, ${counts.crashes} crashes`);
  }
  return { experiment: 'model', seed, counts, failures, durationMs: clock.monotonic() - began };
}

async function explain(
  plan: readonly Command[],
  seed: number,
  error: unknown,
): Promise<LabFailure> {
  const shortest = await shorten(plan, async (less) => {
    try {
      await runModel(less, seed);
      return false;
    } catch {
      // Any failure will do: the shortest run often shows the same fault by another word.
      return true;
    }
  });
  return {
    seed,
    message: messageOf(error),
    steps: shortest.map(describeCommand).join(' '),
    replay: `millrace lab model --commands ${plan.length} --seed ${seed}`,
  };
}
