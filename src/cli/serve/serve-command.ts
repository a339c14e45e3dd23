import { closeSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { AssertionFailed, messageOf, systemClock } from '#base';
import type { LoadedConfig } from '#config';
import type { Daemon } from '#daemon';
import { withExamples, type CommandContext } from '../command.ts';
import { usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from './serve-options.ts';
import type { Runner } from '../verbs/verb-commands.ts';

/** What a stop has left behind, such as a call to a disk that does not answer, holds the process no longer than this (P10). */
const leftBehindMs = 2000;

export function addServeCommand(program: Command, run: Runner): void {
  const command = program
    .command('serve')
    .description('serve a data root over HTTP until it is stopped')
    .option('--root <dir>', 'the data root, made when it is missing (else MILLRACE_ROOT)')
    .option('--listen <host:port>', 'address to listen at (http.listen)')
    .option('--port <port>', 'port of 127.0.0.1 to listen at; 0 takes a free one')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, such as queue.max_bytes=4GiB')
    .option('--log-level <level>', 'debug, info, warn or error (log.level)')
    .option('--ready-fd <n>', 'write one JSON line to this descriptor once events are accepted')
    .option('--json', 'print the ready line as JSON');
  withExamples(
    command,
    'millrace serve --root ./millrace-data',
    'millrace serve --root /srv/millrace --listen 127.0.0.1:8000 --set log.level=warn',
  );
  run(command, (context, options) => serve(context, options as ServeFlags));
}

async function serve(context: CommandContext, flags: ServeFlags): Promise<number> {
  const { environment } = context;
  const readyFd = flags.readyFd === undefined ? undefined : Number(flags.readyFd);
  if (readyFd !== undefined && !(Number.isInteger(readyFd) && readyFd >= 0))
    throw usage({ problem: `--ready-fd ${flags.readyFd ?? ''} is no descriptor` });
  // The whole house, and only this verb needs it.
  const { createDaemon } = await import('#daemon');
  const read = (): LoadedConfig => loadServeConfig(flags, environment);
  const daemon = createDaemon({
    loaded: read(),
    reread: read,
    root: chooseRoot(flags, environment),
    failpoints: environment.failpoints,
    version: readProductVersion(),
  });
  // With the exit code that this verb has told by then.
  const endSoon = (): void => void systemClock.after(leftBehindMs, () => process.exit());
  daemon.stopped.then(endSoon, endSoon);
  const ignore = stopOnSignals(daemon, context);
  try {
    const ready = await daemon.start();
    if (ready !== undefined) tellReady(context, ready, readyFd);
    await daemon.stopped;
    return exitCodes.done;
  } finally {
    ignore();
  }
}

interface Ready {
  readonly url: string;
  readonly root: string;
  readonly isNewRoot: boolean;
}

function tellReady(context: CommandContext, ready: Ready, readyFd: number | undefined): void {
  const { url, root, isNewRoot } = ready;
  const line = JSON.stringify({ url, pid: process.pid, root, new_root: isNewRoot });
  if (readyFd !== undefined) {
    writeSync(readyFd, `${line}\n`);
    closeSync(readyFd);
  }
  if (context.isJson) context.printer.out(line);
  else
    context.printer.out(
      `millrace serves ${isNewRoot ? 'the new root ' : ''}${root} at ${url} (pid ${process.pid})`,
    );
}

/**
 * The first signal stops in order, a second one at once: what it leaves is what kill -9 would leave (P10). SIGHUP reads the settings again and opens
 * the log file anew, SIGUSR1 the latter alone.
 */
function stopOnSignals(daemon: Daemon, context: CommandContext): () => void {
  let count = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    count += 1;
    if (count > 1) process.exit(exitCodes.later);
    daemon.stop(signal);
  };
  const onBug = (error: unknown): void => {
    const kind = error instanceof AssertionFailed ? 'broken assertion' : 'uncaught error';
    const trace = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    context.printer.err(`millrace: a bug (${kind}): ${trace}`);
    process.exit(exitCodes.bug);
  };
  const onHangUp = (): void => {
    daemon.reopenLog();
    daemon.reload();
  };
  const onRotated = (): void => daemon.reopenLog();
  process.on('SIGHUP', onHangUp);
  process.on('SIGUSR1', onRotated);
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', onBug);
  process.on('unhandledRejection', onBug);
  return () => {
    process.off('SIGHUP', onHangUp);
    process.off('SIGUSR1', onRotated);
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.off('uncaughtException', onBug);
    process.off('unhandledRejection', onBug);
  };
}
