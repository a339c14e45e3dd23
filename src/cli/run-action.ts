import type { Command } from 'commander';
import { isMillraceError, messageOf, systemClock } from '#base';
import { readEnvironment } from '#config';
import { clientOf } from './client-of.ts';
import type { CommandContext, SharedOptions } from './command.ts';
import { exitCodeOfError } from './exit-code.ts';
import { nextStep } from './verbs/next-step.ts';
import type { Printer } from './print.ts';
import type { Runner } from './verbs/verb-commands.ts';

/** Where a run keeps its exit code until the program ends. */
export interface Outcome {
  code: number;
}

/** Runs a verb's action with its context, and turns whatever it throws into a message, a next step and an exit code. */
export function createRunner(printer: Printer, outcome: Outcome): Runner {
  return (command, action) => {
    command.action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command;
      const options = self.opts<Record<string, unknown>>();
      const isJson = options['json'] === true;
      try {
        const context = contextOf(printer, isJson, options as SharedOptions);
        outcome.code = await action(context, options, self.args);
      } catch (error) {
        outcome.code = exitCodeOfError(error);
        showError(printer, error, isJson);
      }
    });
  };
}

function contextOf(printer: Printer, isJson: boolean, options: SharedOptions): CommandContext {
  const environment = readEnvironment();
  return {
    printer,
    isJson,
    clock: systemClock,
    environment,
    client: () => clientOf(options, environment),
  };
}

function showError(printer: Printer, error: unknown, isJson: boolean): void {
  const known = isMillraceError(error);
  if (isJson) {
    const code = known ? error.code : 'BUG';
    const details = known ? error.details : {};
    printer.out(JSON.stringify({ error: { code, message: messageOf(error), details } }));
  }
  if (!known) {
    printer.err(`millrace: a bug: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    return;
  }
  printer.err(`${error.code}: ${error.message}`);
  const next = nextStep(error);
  if (next !== undefined) printer.err(next);
}
