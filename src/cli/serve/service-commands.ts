import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { messageOf, systemChance } from '#base';
import { atomicReplace, nodeDisk, stagingNames } from '#disk';
import { withExamples, type CommandContext } from '../command.ts';
import { outputFailed, serviceFailed, serviceForeign, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { facts } from '../print.ts';
import { productFolder } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from './serve-options.ts';
import { planService, serviceMark, type ServicePlan } from './service-unit.ts';
import type { Runner } from '../verbs/verb-commands.ts';

interface ServiceFlags extends ServeFlags {
  readonly system?: boolean;
  readonly name: string;
  readonly runAs?: string;
  readonly print?: boolean;
}

/** `service install|uninstall|status`: a unit of systemd, or a plist of launchd on macOS. */
export function addServiceCommands(group: Command, run: Runner): void {
  const install = withScope(group.command('install'))
    .description('write the unit of a service that serves a root, enable it and start it')
    .option('--root <dir>', 'the data root (else MILLRACE_ROOT)')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--run-as <user>', 'with --system: whose daemon it is')
    .option('--print', 'only show the unit and the commands that would run');
  withExamples(
    install,
    'millrace service install --print',
    'millrace service install --root ~/millrace-data',
    'sudo millrace service install --system --run-as millrace --root /srv/millrace --config /etc/millrace.yaml',
  );
  run(install, (context, options) => installService(context, options as unknown as ServiceFlags));
  const uninstall = withScope(group.command('uninstall'))
    .description('stop the service and take its unit away; root and settings stay')
    .option('--print', 'only show what would run');
  withExamples(uninstall, 'millrace service uninstall', 'millrace service uninstall --print');
  run(uninstall, (context, options) =>
    uninstallService(context, options as unknown as ServiceFlags),
  );
  const status = withScope(group.command('status')).description(
    'whether the service is installed and runs; 1 when it does not',
  );
  withExamples(status, 'millrace service status', 'millrace service status --json');
  run(status, (context, options) => serviceStatus(context, options as unknown as ServiceFlags));
}

function withScope(command: Command): Command {
  return command
    .option('--user', 'a service of this user (the default)')
    .option('--system', 'a service of the machine')
    .option('--name <name>', 'name of the service', 'millrace')
    .option('--json', 'print one JSON document instead of text');
}

function planOf({ environment }: CommandContext, flags: ServiceFlags): ServicePlan {
  const { name } = flags;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw usage({ problem: `--name ${name} is not made of letters, digits, - and _` });
  if (flags.runAs !== undefined && flags.system !== true)
    throw usage({ problem: '--run-as is for --system: a service of a user runs as that user' });
  const { config } = loadServeConfig(flags, environment);
  return planService({
    manager: process.platform === 'darwin' ? 'launchd' : 'systemd',
    scope: flags.system === true ? 'system' : 'user',
    name,
    node: process.execPath,
    program: join(productFolder, 'bin', 'millrace.js'),
    root: chooseRoot(flags, environment).path,
    config: flags.config === undefined ? undefined : resolve(flags.config),
    graceMs: config['shutdown.grace_ms'],
    runAs: flags.runAs,
    home: environment.home,
    configHome: environment.configHome,
  });
}

async function installService(context: CommandContext, flags: ServiceFlags): Promise<number> {
  const plan = planOf(context, flags);
  if (flags.print === true) return show(context, plan, plan.install);
  await refuseForeign(plan.path);
  const disk = nodeDisk();
  try {
    await disk.makeDirectory(dirname(plan.path));
    const names = stagingNames(process.pid, systemChance);
    await atomicReplace(disk, plan.path, Buffer.from(plan.text, 'utf8'), names);
  } catch (error) {
    throw outputFailed({ path: plan.path, reason: messageOf(error) }, error);
  }
  for (const command of plan.install) await mustRun(command);
  return tell(context, { installed: plan.path, runs: true });
}

async function uninstallService(context: CommandContext, flags: ServiceFlags): Promise<number> {
  const plan = planOf(context, flags);
  if (flags.print === true)
    return show(context, plan, [...plan.uninstall, ['rm', plan.path], ...plan.afterwards]);
  const disk = nodeDisk();
  if ((await disk.stat(plan.path)) === undefined)
    return tell(context, { uninstalled: null, note: `${plan.path} is not there` });
  await refuseForeign(plan.path);
  for (const command of plan.uninstall) await mustRun(command);
  await disk.unlink(plan.path);
  for (const command of plan.afterwards) await mustRun(command);
  return tell(context, { uninstalled: plan.path, note: 'root and settings are as they were' });
}

async function serviceStatus(context: CommandContext, flags: ServiceFlags): Promise<number> {
  const plan = planOf(context, flags);
  const isInstalled = (await nodeDisk().stat(plan.path)) !== undefined;
  const isRunning = isInstalled && (await runQuietly(plan.status)) === 0;
  tell(context, { unit: plan.path, installed: isInstalled, runs: isRunning });
  return isRunning ? exitCodes.done : exitCodes.refused;
}

function show(
  context: CommandContext,
  { path, text }: ServicePlan,
  commands: readonly (readonly string[])[],
): number {
  const lines = commands.map((command) => command.join(' '));
  if (context.isJson) context.printer.out(JSON.stringify({ path, text, commands: lines }, null, 2));
  else context.printer.out(`# ${path}\n${text}\n# then\n${lines.join('\n')}`);
  return exitCodes.done;
}

function tell({ printer, isJson }: CommandContext, answer: Readonly<Record<string, unknown>>) {
  printer.out(isJson ? JSON.stringify(answer, null, 2) : facts(answer));
  return exitCodes.done;
}

/** A unit that somebody else has written is theirs. */
async function refuseForeign(path: string): Promise<void> {
  const bytes = await nodeDisk().readFile(path);
  if (bytes !== undefined && !Buffer.from(bytes).toString('utf8').includes(serviceMark))
    throw serviceForeign({ path });
}

async function mustRun(command: readonly string[]): Promise<void> {
  const code = await runQuietly(command);
  if (code !== 0)
    throw serviceFailed({ command: command.join(' '), reason: `it ended with ${code}` });
}

/** The exit code; what the command says is for the person who typed ours. */
async function runQuietly([file = '', ...words]: readonly string[]): Promise<number> {
  const child = spawn(file, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? exitCodes.later;
  } catch (error) {
    throw serviceFailed({ command: [file, ...words].join(' '), reason: messageOf(error) }, error);
  }
}
