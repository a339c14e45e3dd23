import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { verifyBackup, type BackupProgress } from '#backup';
import { formatBytes, MillraceError } from '#base';
import { layoutOf } from '#roots';
import { nodeDisk } from '#disk';
import type { BackupLine, BackupSummary } from '#ops';
import {
  withDaemonOptions,
  withExamples,
  type CommandContext,
  type SharedOptions,
} from '../command.ts';
import { daemonUnreachable, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { facts } from '../print.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from '../serve/serve-options.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

/** `backup create|verify|restore`: the first through the daemon where one serves the root, the others beside any (D29). */
export function addBackupCommands(group: Command, run: Runner): void {
  addCreate(group, run);
  addVerify(group, run);
  addRestore(group, run);
}

function addCreate(group: Command, run: Runner): void {
  const command = group
    .command('create <dir>')
    .description(
      'save the whole root into a new folder, as it is at one instant; a daemon goes on',
    );
  withExamples(
    withDaemonOptions(command),
    'millrace backup create /srv/backups/monday',
    'millrace backup create ./saved --root ./millrace-data --json',
  );
  run(command, async (context, options, args) => {
    const path = resolve(args[0] ?? '');
    const summary = await createOrOffline(context, options as SharedOptions, path);
    show(context, summary);
    return exitCodes.done;
  });
}

async function createOrOffline(
  context: CommandContext,
  options: SharedOptions,
  path: string,
): Promise<unknown> {
  try {
    return await createByDaemon(context, path);
  } catch (error) {
    const isAddressed = [options.url, options.port, context.environment.url].some(
      (address) => address !== undefined,
    );
    if (!daemonUnreachable.is(error) || isAddressed) throw error;
    const root = chooseRoot(options as ServeFlags, context.environment);
    if ((await nodeDisk().stat(layoutOf(root.path).marker)) === undefined) throw error;
    return createOffline(context, options as ServeFlags, path);
  }
}

async function createByDaemon(context: CommandContext, path: string): Promise<BackupSummary> {
  const stream = await context.client().stream(await findRoute('backup create'), { path });
  const tell = tellOf(context);
  let text = '';
  for await (const chunk of stream) {
    text += Buffer.from(chunk).toString('utf8');
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = JSON.parse(text.slice(0, end)) as BackupLine;
      text = text.slice(end + 1);
      if ('done' in line) return line.done;
      if ('error' in line) throw errorOf(line.error);
      tell(line.progress);
    }
  }
  throw daemonUnreachable({ url: context.client().url, reason: 'it ended before the backup did' });
}

/** What may pass has a code of its own; anything else asks for a look at its words. */
function errorOf(error: { readonly code: string; readonly message: string }): MillraceError {
  const isLater = ['BACKUP_RUNNING', 'BACKUP_FAILED', 'DRAINING'].includes(error.code);
  return new MillraceError(error.code, isLater ? 'retry' : 'reject', error.message, {});
}

async function createOffline(
  context: CommandContext,
  flags: ServeFlags,
  path: string,
): Promise<BackupSummary> {
  const [{ backupOffline }, { summaryOf }] = await Promise.all([import('#daemon'), import('#ops')]);
  const { environment } = context;
  const made = await backupOffline(
    {
      loaded: loadServeConfig(flags, environment),
      root: chooseRoot(flags, environment),
      failpoints: undefined,
      version: readProductVersion(),
    },
    { path, signal: new AbortController().signal, tell: tellOf(context) },
  );
  return summaryOf(made.path, made.manifest);
}

function addVerify(group: Command, run: Runner): void {
  const command = group
    .command('verify <dir>')
    .description('read a backup again and compare every digest; 74 when something is damaged')
    .option('--drill', 'also restore it into a throwaway folder, open it, drain it, compare')
    .option('--work <dir>', 'where the drill restores to (default: the folder for temporary files)')
    .option('--json', 'print one JSON document instead of text');
  withExamples(
    command,
    'millrace backup verify /srv/backups/monday',
    'millrace backup verify /srv/backups/monday --drill',
  );
  run(command, async (context, options, args) => {
    const path = resolve(args[0] ?? '');
    const { manifest, findings } = await verifyBackup(nodeDisk(), path, tellOf(context));
    const { summaryOf } = await import('#ops');
    const summary = summaryOf(path, manifest);
    const isWhole = findings.length === 0;
    if (!isWhole || options['drill'] !== true) {
      show(context, {
        ok: isWhole,
        ...summary,
        findings: findings.map(({ file, problem }) => `${file} ${problem}`),
      });
      return isWhole ? exitCodes.done : exitCodes.corrupt;
    }
    const drill = await runDrill(context, path, options['work']);
    show(context, { ok: true, ...summary, findings: [], drill });
    return exitCodes.done;
  });
}

async function runDrill(context: CommandContext, path: string, work: unknown): Promise<object> {
  const { drillBackup } = await import('#daemon');
  const report = await drillBackup(path, {
    work: typeof work === 'string' ? resolve(work) : tmpdir(),
    version: readProductVersion(),
    signal: new AbortController().signal,
    tell: tellOf(context),
  });
  const { digest, drainedDigest, drained } = report;
  return { digest, drained_digest: drainedDigest, drained };
}

function addRestore(group: Command, run: Runner): void {
  const command = group
    .command('restore <dir>')
    .description('make a root of a backup, in an empty folder; it becomes a root of its own')
    .option('--root <dir>', 'the empty folder (else MILLRACE_ROOT)')
    .option('--json', 'print one JSON document instead of text');
  withExamples(command, 'millrace backup restore /srv/backups/monday --root /srv/restored');
  run(command, async (context, options, args) => {
    const from = resolve(args[0] ?? '');
    const { root } = options as ServeFlags;
    if (root === undefined && context.environment.root === undefined)
      throw usage({ problem: 'name the empty folder to restore into with --root' });
    const to = chooseRoot(options as ServeFlags, context.environment).path;
    const { restoreOffline } = await import('#daemon');
    const { manifest, rootId } = await restoreOffline(from, to, tellOf(context));
    const { summaryOf } = await import('#ops');
    const { path: _, root_id: savedFrom, ...summary } = summaryOf(from, manifest);
    const next = `millrace serve --root ${to}`;
    show(context, { root: to, root_id: rootId, saved_from: savedFrom, ...summary, next });
    return exitCodes.done;
  });
}

/** How often at most progress is shown. */
const tellEveryMs = 500;

function tellOf(context: CommandContext): (progress: BackupProgress) => void {
  let nextMs = 0;
  return ({ step, files, bytes }) => {
    const nowMs = context.clock.monotonic();
    if (nowMs < nextMs) return;
    nextMs = nowMs + tellEveryMs;
    context.printer.progress(`${step}: ${files} files, ${formatBytes(bytes)}`);
  };
}

function show(context: CommandContext, answer: unknown): void {
  const text = context.isJson
    ? JSON.stringify(answer, null, 2)
    : facts(answer as Readonly<Record<string, unknown>>);
  context.printer.out(text);
}
