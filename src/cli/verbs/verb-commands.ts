import type { Command } from 'commander';
import { rootOther } from '#access';
import { systemChance } from '#base';
import { callOnce } from './call-once.ts';
import {
  withDaemonOptions,
  withExamples,
  type CommandContext,
  type SharedOptions,
} from '../command.ts';
import { daemonUnreachable, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { runTokensOffline } from '../serve/offline-tokens.ts';
import { plainText } from '../print.ts';
import { findRoute } from './verb-route.ts';
import type { Row, VerbCommand } from './verb-command.ts';
import { verbCommands } from './verb-table.ts';

/** Runs one action with its context and remembers its exit code. */
export type Runner = (
  command: Command,
  action: (
    context: CommandContext,
    options: Readonly<Record<string, unknown>>,
    args: readonly string[],
  ) => Promise<number>,
) => void;

/** Adds every verb that is one request, and returns the groups by their first word. */
export function addVerbCommands(program: Command, run: Runner): Map<string, Command> {
  const groups = new Map<string, Command>();
  for (const spec of verbCommands) {
    const [first = '', ...rest] = spec.words.split(' ');
    const isGrouped = /^\w/.test(rest[0] ?? '');
    const parent = isGrouped ? groupOf(program, groups, first) : program;
    const words = isGrouped ? rest.join(' ') : spec.words;
    const command = parent.command(words).description(spec.summary);
    for (const [flags, help] of spec.options ?? []) command.option(flags, help);
    if (spec.isAct === true)
      command.option(
        '--idempotency-key <key>',
        'the same key again asks for the first answer, nothing is done twice (default: a fresh one)',
      );
    withExamples(withDaemonOptions(command), ...spec.examples);
    run(command, (context, options, args) => callVerb(spec, context, options, args));
  }
  return groups;
}

const groupSummaries: Readonly<Record<string, string>> = {
  sessions: 'which sessions there are, and how far each is',
  graph: 'ask, measure, check and export the graph',
  dead: 'what could not be applied: look, requeue, edit, discard',
  jobs: 'acts on many dead letters: how far they are, and their end',
  backup: 'save a whole root, prove a backup, restore it',
  quarantine: 'sessions that are stopped by damage: look, and take a way out',
  tokens: 'who may use the daemon',
  queue: 'the stored log itself: verify, recover, replay, import, export',
  audit: 'what operators did',
  retention: 'what goes by age or size: the rules, what they take, and a run by hand',
  service: 'run the daemon as a service of systemd or launchd',
  config: 'settings: what may be set, what is in force and why, read again',
};

/** The command of a group, made when its first verb comes. */
export function groupOf(program: Command, groups: Map<string, Command>, name: string): Command {
  const group = groups.get(name) ?? program.command(name).description(groupSummaries[name] ?? name);
  groups.set(name, group);
  return group;
}

async function callVerb(
  spec: VerbCommand,
  context: CommandContext,
  options: Row,
  args: readonly string[],
): Promise<number> {
  checkConsent(spec, options, args);
  const verb = typeof spec.verb === 'string' ? spec.verb : spec.verb(args, options);
  const input = spec.input?.(options, args) ?? {};
  const answer = (await callOrRunOffline(verb, context, options, input)) as Row;
  const isText = !context.isJson && spec.render !== undefined;
  context.printer.out(isText ? (spec.render?.(answer) ?? '') : JSON.stringify(answer, null, 2));
  return spec.hasFindings?.(answer) === true ? exitCodes.refused : exitCodes.done;
}

/** Over HTTP; where nobody answers and no address was named, verbs over tokens work on the root itself. */
async function callOrRunOffline(
  verb: string,
  context: CommandContext,
  options: SharedOptions & { readonly idempotencyKey?: string },
  input: Row,
): Promise<unknown> {
  const { environment } = context;
  try {
    const key = options.idempotencyKey;
    const tools = { clock: context.clock, chance: systemChance };
    return await callOnce(context.client(), await findRoute(verb), input, key, tools);
  } catch (error) {
    const isAddressed =
      options.url !== undefined ||
      options.port !== undefined ||
      (options.root === undefined && environment.url !== undefined);
    // Whoever answers at the address that a killed daemon has left is another one.
    const isAlone = daemonUnreachable.is(error) || rootOther.is(error);
    if (!isAlone || isAddressed || !verb.startsWith('tokens ')) throw error;
    return runTokensOffline(verb, input, options, environment, error);
  }
}

/** Destructive verbs without a dry run of their own ask for --yes (ING-923). */
function checkConsent(spec: VerbCommand, options: Row, args: readonly string[]): void {
  if (spec.isDestructive !== true || spec.hasDryRun === true) return;
  const { yes, confirm } = options;
  const [name = ''] = args;
  if (confirm !== undefined && confirm !== name)
    throw usage({ problem: `--confirm ${plainText(confirm)} is not ${name}: nothing was done` });
  if (yes === true || confirm !== undefined) return;
  throw usage({
    problem: `"${spec.words}" cannot be undone: say --yes, or --confirm ${name === '' ? 'KEY' : name}`,
  });
}
