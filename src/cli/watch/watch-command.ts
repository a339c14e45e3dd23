import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isMillraceError, messageOf, type Clock } from '#base';
import { parseDurationMs } from '#config';
import { lateClient } from '../client.ts';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { inputUnreadable, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { followFile, hasNews, type Followed, type FollowOptions } from './follow-file.ts';
import { askEventLimit, formatOf } from '../post/post-command.ts';
import { listWatched, type WatchedFile } from './watch-files.ts';
import { openWatchHints } from './watch-hints.ts';
import { openWatchStates } from './watch-state.ts';
import type { Runner } from '../verbs/verb-commands.ts';

interface WatchFlags {
  readonly workspace?: string;
  readonly format?: string;
  readonly state?: string;
  readonly poll: string;
  readonly once?: boolean;
  readonly root?: string;
}

/** Refused lines of one file that are told one by one. */
const toldRejectsMax = 5;
/** After a failure that may pass the next look comes so much later. */
const troubleWaitMs = 5000;

export function addWatchCommand(program: Command, run: Runner): void {
  const command = program
    .command('watch <folders...>')
    .description(
      'follow folders of transcripts (Claude Code, Codex, Amplifier) and send what their files grow by',
    )
    .option(
      '--workspace <name>',
      'workspace of files that name none (else the project that they tell)',
    )
    .option('--format <name>', 'take every line as this format')
    .option('--state <dir>', 'where it is kept how far each file was read (else beside the root)')
    .option('--poll <duration>', 'look at all files this often, whatever the system tells', '10s')
    .option('--once', 'look once and end');
  withExamples(
    withDaemonOptions(command),
    'millrace watch ~/.claude/projects ~/.codex/sessions ~/.amplifier/projects',
    'millrace watch ~/.claude/projects --once --json',
  );
  run(command, (context, options, folders) =>
    watchFolders(context, options as unknown as WatchFlags, folders),
  );
}

async function watchFolders(
  context: CommandContext,
  flags: WatchFlags,
  folders: readonly string[],
): Promise<number> {
  const pollMs = parseDurationMs(flags.poll);
  if (pollMs === undefined)
    throw usage({ problem: `--poll ${flags.poll} is no duration, such as 10s` });
  const { printer, clock, environment } = context;
  const client = lateClient(() => context.client());
  const root = flags.root ?? environment.root ?? environment.defaultRoot;
  const options: FollowOptions = {
    workspace: flags.workspace,
    format: formatOf(flags.format),
    lineBytesMax: await askEventLimit(client),
    clock,
    printer,
    states: openWatchStates(flags.state ?? `${resolve(root)}-watch`),
    onReject: tellRejects(context),
  };
  const total = { files: 0, lines: 0, queued: 0, duplicates: 0, rejected: 0 };
  const onFollowed = (file: WatchedFile, followed: Followed): void => {
    total.files += 1;
    for (const name of ['lines', 'queued', 'duplicates', 'rejected'] as const)
      total[name] += followed[name];
    const anew = followed.isAnew ? ', read from its begin because it is another file now' : '';
    if (followed.lines > 0)
      printer.err(`${file.path}: ${followed.lines} lines, ${followed.queued} stored${anew}`);
  };
  const look = (signal?: AbortSignal): Promise<void> =>
    lookOnce(
      folders.map((folder) => resolve(folder)),
      { client, options, onFollowed, signal },
    );
  if (flags.once === true) {
    refuseMissing(folders);
    await look();
  } else
    await lookUntilStopped(folders, {
      look,
      pollMs,
      clock,
      onTrouble: (text) => printer.err(text),
    });
  const words = `${total.lines} lines: ${total.queued} stored, ${total.duplicates} known already, ${total.rejected} refused`;
  printer.out(context.isJson ? JSON.stringify(total, null, 2) : words);
  return exitCodes.done;
}

/** A folder that is not there may come while it is waited for; in one look it is a mistake. */
function refuseMissing(folders: readonly string[]): void {
  const path = folders.find((folder) => statSync(folder, { throwIfNoEntry: false }) === undefined);
  if (path !== undefined) throw inputUnreadable({ path, reason: 'there is no such folder' });
}

interface Look {
  readonly client: ReturnType<CommandContext['client']>;
  readonly options: FollowOptions;
  readonly onFollowed: (file: WatchedFile, followed: Followed) => void;
  readonly signal: AbortSignal | undefined;
}

/** The listing is the truth: every file whose size differs from what was sent is looked at. */
export async function lookOnce(folders: readonly string[], look: Look): Promise<void> {
  const { client, options, onFollowed, signal } = look;
  const onTrouble = (path: string, error: Error): void => {
    options.printer.err(`cannot read ${path}: ${messageOf(error)}`);
  };
  for (const file of listWatched(folders, onTrouble)) {
    if (signal?.aborted === true) return;
    if (!hasNews(file, options.states.load(file.path))) continue;
    onFollowed(file, await followFile(client, file, options));
  }
}

/** Looks at every hint and at every poll; a daemon that is away is waited for. SIGINT and SIGTERM end it behind the file at hand. */
async function lookUntilStopped(
  folders: readonly string[],
  {
    look,
    pollMs,
    clock,
    onTrouble,
  }: {
    readonly look: (signal: AbortSignal) => Promise<void>;
    readonly pollMs: number;
    readonly clock: Clock;
    readonly onTrouble: (text: string) => void;
  },
): Promise<void> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const hints = await openWatchHints(folders, (error) =>
    onTrouble(`no hints of changes (${error.message}): the listing finds them`),
  );
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    while (!stop.signal.aborted) {
      let waitMs = pollMs;
      try {
        await look(stop.signal);
      } catch (error) {
        if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
        onTrouble(`${error.code}: ${error.message}; looking again`);
        waitMs = Math.max(troubleWaitMs, pollMs);
      }
      const timeout = new AbortController();
      await Promise.race([hints.next(), stopped, slept(clock, waitMs, timeout.signal)]);
      timeout.abort();
    }
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    await hints.close();
  }
}

async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function tellRejects({ printer }: CommandContext): FollowOptions['onReject'] {
  const told = new Map<string, number>();
  return (file, { line, offset, code, message }) => {
    const count = (told.get(file) ?? 0) + 1;
    told.set(file, count);
    if (count <= toldRejectsMax)
      printer.err(`${file}:${line} (byte ${offset}): ${code}: ${message}`);
    if (count === toldRejectsMax) printer.err(`${file}: more refused lines are counted only`);
  };
}
