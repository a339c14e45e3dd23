import type { Command } from 'commander';
import { systemChance } from '#base';
import { nodeDisk } from '#disk';
import { createClient } from './client.ts';
import { withExamples, type CommandContext } from './command.ts';
import { type DaemonTrouble, examine } from './doctor.ts';
import { exitCodes } from './exit-code.ts';
import { table } from './print.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from './serve-options.ts';
import type { Runner } from './verb-commands.ts';

/** Runs without a daemon, and beside one. */
export function addDoctorCommand(program: Command, run: Runner): void {
  const command = program
    .command('doctor')
    .description('look at config, root, permissions, disk and clock before a start; 1 on findings')
    .option('--root <dir>', 'the data root (else MILLRACE_ROOT)')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option('--json', 'print one JSON document instead of text');
  withExamples(command, 'millrace doctor', 'millrace doctor --root /srv/millrace --json');
  run(command, (context, options) => doctor(context, options as ServeFlags));
}

async function doctor(context: CommandContext, flags: ServeFlags): Promise<number> {
  const { environment, clock, printer } = context;
  const findings = await examine({
    disk: nodeDisk(),
    clock,
    chance: systemChance,
    root: chooseRoot(flags, environment),
    loaded: loadServeConfig(flags, environment),
    askDaemon: (url) => askDaemon(url, environment.token),
  });
  const isWell = findings.every(({ result }) => result === 'ok');
  if (context.isJson) printer.out(JSON.stringify({ ok: isWell, findings }, null, 2));
  else
    printer.out(
      table(
        ['check', 'result', 'detail'],
        findings.map(({ check, result, detail }) => [check, result, detail]),
      ),
    );
  return isWell ? exitCodes.done : exitCodes.refused;
}

async function askDaemon(
  url: string,
  token: string | undefined,
): Promise<readonly DaemonTrouble[]> {
  const route = { method: 'GET', path: '/v1/status' };
  const status = await createClient({ url, token }).call(route, {});
  return (status as { readonly degraded: readonly DaemonTrouble[] }).degraded;
}
