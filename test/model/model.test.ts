import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  choiceMax,
  describeCommand,
  drawnKinds,
  loose,
  parseCommands,
  type Command,
} from '../../src/lab/model/command.ts';
import { runModel } from '../../src/lab/model/run-model.ts';

/** Commands of all runs together: ten thousand in every run of the tests, any number on demand. */
const commandCount = Number(process.env['MODEL_COMMANDS'] ?? 10_000);
const perRun = 100;

/** Runs that failed once, in words: kept here for ever, and run first. */
const kept = new URL('failing-seeds.json', import.meta.url);
interface KeptRun {
  readonly seed: number;
  readonly commands: string;
  /** What was wrong. */
  readonly fault: string;
}
const keptRuns = JSON.parse(readFileSync(kept, 'utf8')) as readonly KeptRun[];

const choice = fc.nat(choiceMax);
const simple = (kinds: readonly Command['kind'][]): fc.Arbitrary<Omit<Command, 'beside'>> =>
  fc.record({ kind: fc.constantFrom(...kinds), a: choice, b: choice, c: choice });
const alone = simple(drawnKinds());
const besides = fc.tuple(alone, simple(loose), alone).map(([own, other, interrupted]) => ({
  ...own,
  beside: own.kind === 'crash' ? interrupted : other,
}));
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: alone, weight: 5 },
  { arbitrary: besides, weight: 1 },
);

describe('the filesystem queue and its model', () => {
  it('agree on every run that failed once (ING-P01)', async () => {
    for (const { seed, commands } of keptRuns) await runModel(parseCommands(commands), seed);
  });

  it(
    `agree over ${commandCount} random commands, crashes and troubles of the disk (P1, P2, P3, P4, P5, P12, ING-P01, ING-P09)`,
    { timeout: 60_000 + commandCount * 20 },
    async () => {
      let commands = 0;
      let crashes = 0;
      const property = fc.asyncProperty(
        fc.array(anyCommand, { minLength: perRun, maxLength: perRun, size: 'max' }),
        fc.nat(),
        async (run, seed) => {
          const told = await runModel(run, seed);
          commands += told.commands;
          crashes += told.crashes;
        },
      );
      const outcome = await fc.check(property, { numRuns: Math.ceil(commandCount / perRun) });
      if (outcome.failed) keep(outcome);
      expect(commands).toBeGreaterThanOrEqual(commandCount);
      expect(crashes).toBeGreaterThan(commandCount / 100);
    },
  );

  it('writes a run as words that can be read again', () => {
    const run = fc.sample(anyCommand, { seed: 7, numRuns: 50 });
    expect(parseCommands(run.map(describeCommand).join(' '))).toEqual(run);
  });
});

/** Keeps the shortest run that fails, and fails with it. */
function keep(outcome: fc.RunDetails<[Command[], number]>): never {
  const [run = [], seed = 0] = outcome.counterexample ?? [];
  const fault = String(outcome.errorInstance);
  const commands = run.map(describeCommand).join(' ');
  const runs = [...keptRuns, { seed, commands, fault }];
  writeFileSync(fileURLToPath(kept), `${JSON.stringify(runs, null, 2)}\n`);
  throw new Error(`seed ${seed}: ${commands}`, { cause: outcome.errorInstance });
}
