import type { Command } from 'commander';
import { systemChance } from '#base';
import { nodeDisk } from '#disk';
import type { Environment } from '#config';
import { layoutOf, parseMarker } from '#roots';
import { createClient, type Client } from '../client.ts';
import { clientOf } from '../client-of.ts';
import { withExamples, type CommandContext } from '../command.ts';
import { type DaemonFacts, examine, type ExaminedRoot } from './doctor.ts';
import { daemonUnreachable } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { table } from '../print.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from '../serve/serve-options.ts';
import type { Runner } from '../verbs/verb-commands.ts';

/** Runs without a daemon, and beside one. */
export function addDoctorCommand(program: Command, run: Runner): void {
  const command = program
    .command('doctor')
    .description(
      'look at config, root, disk speed, clock, store, permissions and versions; says what to do, 1 on findings',
    )
    .option(
      '--root <dir>',
      'the data root (else MILLRACE_ROOT, else that of the daemon at MILLRACE_URL or port 7117)',
    )
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
    root: await rootOf(flags, environment),
    loaded: loadServeConfig(flags, environment),
    version: readProductVersion(),
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
  if (!context.isJson)
    for (const { check, next } of findings)
      if (next !== undefined) printer.out(`${check}: ${next}`);
  return isWell ? exitCodes.done : exitCodes.refused;
}

/** Where no root is named it is that of the daemon which every other verb would ask, if that root is on this machine. */
async function rootOf(flags: ServeFlags, environment: Environment): Promise<ExaminedRoot> {
  const chosen = chooseRoot(flags, environment);
  if (chosen.source !== 'platform_default') return chosen;
  try {
    return (await servedRoot(clientOf({}, environment))) ?? chosen;
  } catch (error) {
    if (daemonUnreachable.is(error)) return chosen;
    throw error;
  }
}

async function servedRoot(client: Client): Promise<ExaminedRoot | undefined> {
  const answer = await client.send('GET', '/v1/status');
  if (!answer.ok) return undefined;
  const { disk } = (await answer.json()) as { disk?: { path?: string } };
  if (disk?.path === undefined) return undefined;
  const marker = await nodeDisk().readFile(layoutOf(disk.path).marker);
  if (marker === undefined) return undefined;
  const { storageRootId } = parseMarker(disk.path, marker);
  const same = await client.send('GET', '/v1/status', undefined, {
    'millrace-root': storageRootId,
  });
  return same.ok ? { path: disk.path, source: `served at ${client.url}` } : undefined;
}

async function askDaemon(url: string, token: string | undefined): Promise<DaemonFacts> {
  const answer = await createClient({ url, token }).send('GET', '/v1/status');
  if (!answer.ok) throw daemonUnreachable({ url, reason: `it answered ${answer.status}` });
  const status = (await answer.json()) as Pick<DaemonFacts, 'degraded' | 'version'>;
  const date = Date.parse(answer.headers.get('date') ?? '');
  return { ...status, clockMs: Number.isNaN(date) ? undefined : date };
}
