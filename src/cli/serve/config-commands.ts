import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import {
  configInvalid,
  configJsonSchema,
  effectiveConfig,
  type ConfigProblem,
  type EffectiveSetting,
} from '#config';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { plainText, table } from '../print.ts';
import { loadServeConfig, type ServeFlags } from './serve-options.ts';
import { findRoute } from '../verbs/verb-route.ts';
import type { Runner } from '../verbs/verb-commands.ts';

/** `config schema|check|show` work without a daemon (D29); `config reload` is a request like any other. */
export function addConfigCommands(group: Command, run: Runner): void {
  addSchema(group, run);
  addCheck(group, run);
  addShow(group, run);
}

function addSchema(group: Command, run: Runner): void {
  const command = group
    .command('schema')
    .description('the JSON Schema of millrace.yaml, for editors and checks')
    .option('--json', 'it is JSON in any case');
  withExamples(command, 'millrace config schema > millrace.schema.json');
  run(command, ({ printer }) => {
    printer.out(JSON.stringify(configJsonSchema(), null, 2));
    return Promise.resolve(exitCodes.done);
  });
}

function addCheck(group: Command, run: Runner): void {
  const command = group
    .command('check [file]')
    .description('look for every mistake in the settings that serve would read; 1 on findings')
    .option('--config <file>', 'the same as FILE')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option('--json', 'print one JSON document instead of text');
  withExamples(
    command,
    'millrace config check',
    'millrace config check deploy/millrace.yaml --json',
  );
  run(command, (context, options, args) => {
    const flags = options as ServeFlags;
    return check(context, args[0] === undefined ? flags : { ...flags, config: args[0] });
  });
}

function check({ printer, isJson, environment }: CommandContext, flags: ServeFlags) {
  const file = flags.config ?? environment.configFile;
  let problems: readonly ConfigProblem[] = [];
  try {
    loadServeConfig(flags, environment);
  } catch (error) {
    if (!configInvalid.is(error)) throw error;
    problems = error.details['problems'] as readonly ConfigProblem[];
  }
  const isWell = problems.length === 0;
  if (isJson) printer.out(JSON.stringify({ ok: isWell, file, problems }, null, 2));
  else if (isWell && existsSync(file)) printer.out(`ok: ${file}`);
  else if (isWell)
    printer.out(
      `ok: ${file} is not there, so every setting has its default or what flags and environment say`,
    );
  else
    for (const { key, origin, problem } of problems) printer.out(`${origin}: ${key}: ${problem}`);
  return Promise.resolve(isWell ? exitCodes.done : exitCodes.refused);
}

function addShow(group: Command, run: Runner): void {
  const command = withDaemonOptions(group.command('show'))
    .description(
      'every setting that serve would use, and where it comes from; with --running, those of the daemon',
    )
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option('--changed', 'leave out what has its default')
    .option('--running', 'ask the running daemon');
  withExamples(
    command,
    'millrace config show --changed',
    'millrace config show --running --json',
    'millrace config show --config deploy/millrace.yaml --set log.level=debug',
  );
  run(command, async (context, options) => {
    const isChanged = options['changed'] === true;
    const rows =
      options['running'] === true
        ? await ofDaemon(context, isChanged)
        : ofFiles(context, options as ServeFlags, isChanged);
    if (context.isJson) context.printer.out(JSON.stringify({ settings: rows }, null, 2));
    else context.printer.out(rows.length === 0 ? 'all settings have their defaults' : shown(rows));
    return exitCodes.done;
  });
}

type Shown = Omit<EffectiveSetting, 'isLive'> & { readonly live: boolean };

function ofFiles(
  { environment }: CommandContext,
  flags: ServeFlags,
  isChanged: boolean,
): readonly Shown[] {
  return effectiveConfig(loadServeConfig(flags, environment))
    .filter(({ origin }) => !isChanged || origin !== 'default')
    .map(({ isLive, ...rest }) => ({ ...rest, live: isLive }));
}

async function ofDaemon(context: CommandContext, isChanged: boolean): Promise<readonly Shown[]> {
  const route = await findRoute('config show');
  const answer = await context.client().call(route, { changed: isChanged });
  return (answer as { readonly settings: readonly Shown[] }).settings;
}

function shown(rows: readonly Shown[]): string {
  return table(
    ['key', 'value', 'live', 'origin'],
    rows.map(({ key, value, live, origin }) => [
      key,
      Array.isArray(value) ? value.join(',') : plainText(value),
      live ? 'live' : '',
      origin,
    ]),
  );
}
