import type { Command } from 'commander';
import type * as lab from '#lab';
import type { LabReport, Progress } from '#lab';
import { withExamples, type CommandContext } from '../command.ts';
import { usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { facts } from '../print.ts';
import type { Runner } from '../verbs/verb-commands.ts';

type Options = Readonly<Record<string, unknown>>;
type Lab = typeof lab;

interface Experiment {
  readonly word: string;
  readonly summary: string;
  readonly options: readonly (readonly [flags: string, help: string, preset: string])[];
  readonly hasData?: boolean;
  readonly examples: readonly string[];
  run(
    room: Lab,
    numbers: (name: string) => number,
    options: Options,
    context: CommandContext,
    progress: Progress,
  ): Promise<LabReport>;
}

const seedOption = [
  '--seed <n>',
  'where chance begins; the same seed gives the same run',
  '1',
] as const;

const experiments: readonly Experiment[] = [
  {
    word: 'kill',
    summary: 'kill real daemons at random moments under load, and compare the graph in the end',
    options: [['--rounds <n>', 'kills', '50'], seedOption],
    hasData: true,
    examples: ['millrace lab kill --rounds 20', 'millrace lab kill --rounds 200 --seed 7'],
    run: (room, number, { data }, { clock }, progress) =>
      room.tryKills({
        rounds: number('rounds'),
        seed: number('seed'),
        clock,
        progress,
        ...(typeof data === 'string' ? { data } : {}),
      }),
  },
  {
    word: 'sweep',
    summary: 'lose the power after every step of the disk, in every way, and open what is left',
    options: [['--lives <n>', 'lives of a queue that are swept', '2'], seedOption],
    examples: ['millrace lab sweep', 'millrace lab sweep --lives 20 --seed 100'],
    run: (room, number, _options, { clock }, progress) =>
      room.trySweep({
        seed: number('seed'),
        lives: number('lives'),
        acts: 30,
        torn: 2,
        recoveryShare: 0.002,
        clock,
        progress,
      }),
  },
  {
    word: 'model',
    summary: 'compare the queue with a model under random commands and crashes',
    options: [['--commands <n>', 'commands in all', '10000'], seedOption],
    examples: ['millrace lab model', 'millrace lab model --commands 1000000 --seed 5'],
    run: (room, number, _options, { clock }, progress) =>
      room.tryModel({ commands: number('commands'), seed: number('seed'), clock, progress }),
  },
  {
    word: 'faults',
    summary: 'fail the nth call of the disk and of the stores, for every n, once and from there on',
    options: [['--every <n>', 'fail only every nth call, for a shorter run', '10'], seedOption],
    examples: ['millrace lab faults', 'millrace lab faults --every 1'],
    run: (room, number, _options, { clock }, progress) =>
      room.tryFaults({ seed: number('seed'), stride: number('every'), clock, progress }),
  },
  {
    word: 'damage',
    summary:
      'damage a file of a root at random, start a daemon, take the ways out, and judge what is left',
    options: [['--rounds <n>', 'damaged roots', '20'], seedOption],
    examples: ['millrace lab damage --rounds 20', 'millrace lab damage --rounds 500 --seed 7'],
    run: (room, number, _options, { clock }, progress) =>
      room.tryDamage({ rounds: number('rounds'), seed: number('seed'), clock, progress }),
  },
  {
    word: 'race',
    summary: 'run what may collide side by side, on broken variants and on the real code',
    options: [['--rounds <n>', 'rounds of each race', '300'], seedOption],
    examples: ['millrace lab race', 'millrace lab race --rounds 3000'],
    run: (room, number, _options, { clock }, progress) =>
      room.tryRaces({ rounds: number('rounds'), seed: number('seed'), clock, progress }),
  },
];

/** Promises tried on throwaway roots, without a daemon: 0 when all held, 1 with what did not and how to see it again. */
export function addLabCommands(program: Command, run: Runner): void {
  const group = program
    .command('lab')
    .description('try the promises under trouble, on throwaway roots of its own');
  for (const experiment of experiments) {
    const command = group.command(experiment.word).description(experiment.summary);
    for (const [flags, help, preset] of experiment.options) command.option(flags, help, preset);
    if (experiment.hasData === true)
      command.option('--data <file>', 'events to post, NDJSON, in place of made ones');
    command.option('--json', 'print one JSON document instead of text');
    withExamples(command, ...experiment.examples);
    run(command, (context, options) => tryOne(experiment, context, options));
  }
}

async function tryOne(
  experiment: Experiment,
  context: CommandContext,
  options: Options,
): Promise<number> {
  const { printer, isJson } = context;
  const number = (name: string): number => numberOf(name, options[name]);
  // The laboratory is loaded when it is asked for: no other verb waits for it.
  const room = await import('#lab');
  const progress: Progress = (text) => printer.progress(text);
  const report = await experiment.run(room, number, options, context, progress);
  printer.out(isJson ? JSON.stringify(jsonOf(report), null, 2) : textOf(report));
  return report.failures.length === 0 ? exitCodes.done : exitCodes.refused;
}

function numberOf(name: string, value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (number < 0 || (name !== 'seed' && number === 0))
    throw usage({ problem: `--${name} ${String(value)} is no count` });
  return number;
}

function jsonOf({ experiment, seed, counts, failures, durationMs }: LabReport): Options {
  return {
    ok: failures.length === 0,
    experiment,
    seed,
    counts,
    failures,
    duration_ms: Math.round(durationMs),
  };
}

function textOf({ experiment, seed, counts, failures, durationMs }: LabReport): string {
  const verdict = failures.length === 0 ? 'every promise held' : `${failures.length} broken`;
  const lines = [
    `${experiment}: ${verdict}`,
    facts({ ...counts, seed, seconds: Math.round(durationMs / 1000) }, '  '),
  ];
  for (const { seed: own, message, steps, replay } of failures) {
    lines.push(`  seed ${own}: ${message}`);
    if (steps !== undefined) lines.push(`    steps: ${steps}`);
    lines.push(`    again: ${replay}`);
  }
  return lines.join('\n');
}
