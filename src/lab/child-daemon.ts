import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#base';
import { childEnvironment } from '#config';

/** Three folders up from the sources, four from a package's dist. */
const programs = ['../../bin/millrace.js', '../../../bin/millrace.js'] as const;
const isPackage = import.meta.url.endsWith('.js');
const program = fileURLToPath(new URL(programs[isPackage ? 1 : 0], import.meta.url));

/** Output is kept to be shown when a run fails, and no more of it than a person reads. */
const outputCharactersMax = 64 * 1024;
/** Long enough for a machine that has much else to do. */
const readyDeadlineMs = 120_000;
/** One that has died by itself tells how. */
const lastWordsMs = 2000;

/** A real daemon in a process of its own. */
export interface ChildDaemon {
  readonly url: string;
  readonly pid: number;
  readonly root: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** SIGSTOP: it stands still, and holds what it holds. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Resolves to the exit code when it ends by itself. */
  exited(): Promise<number | null>;
  /** What it wrote to standard error so far: shown on failure, silent otherwise. */
  readonly output: () => string;
}

export interface ChildOptions {
  readonly root: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What a shell does before it becomes the daemon, such as `ulimit -n 90`. */
  readonly before?: string;
}

/** A daemon that ended, or was killed because it was not ready in time: it has no exit code then. */
export interface RefusedStart {
  readonly code: number | null;
  readonly output: string;
}

/** Starts a daemon on a free port and waits for its ready line on fd 3; rejects with its output when it ends before. */
export async function startDaemon(options: ChildOptions): Promise<ChildDaemon> {
  const daemon = await tryDaemon(options);
  if ('url' in daemon) return daemon;
  throw new Error(`the daemon was not ready; it exited with ${daemon.code}:\n${daemon.output}`);
}

/** The same where a refusal is one of the outcomes. */
export async function tryDaemon(options: ChildOptions): Promise<ChildDaemon | RefusedStart> {
  const { child, output, exited } = spawnDaemon(options);
  const ready = await Promise.race([
    firstLine(child.stdio[3] as NodeJS.ReadableStream),
    after(readyDeadlineMs),
  ]);
  if (ready === undefined) {
    await Promise.race([exited, after(lastWordsMs)]);
    child.kill('SIGKILL');
    await exited;
    return { code: child.exitCode, output: output() };
  }
  const { url } = JSON.parse(ready) as { readonly url: string };
  return {
    url,
    pid: child.pid ?? 0,
    root: options.root,
    output,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async exited() {
      await exited;
      return child.exitCode;
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
      return child.exitCode;
    },
  };
}

/** Starts a daemon that is expected to refuse; resolves to its exit code and output when it has ended. */
export async function runDaemonToItsEnd(
  options: ChildOptions,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { child, output, exited } = spawnDaemon(options);
  await exited;
  return { code: child.exitCode, output: output() };
}

/** Starts a daemon and kills it after `ms`, ready or not. */
export async function killWhileStarting(options: ChildOptions, ms: number): Promise<void> {
  const { child, exited } = spawnDaemon(options);
  await after(ms);
  child.kill('SIGKILL');
  await exited;
}

interface Spawned {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly output: () => string;
}

function spawnDaemon({ root, args = [], env = {}, before }: ChildOptions): Spawned {
  const serve = ['serve', '--root', root, '--port', '0', '--ready-fd', '3', ...args];
  const command = [process.execPath, program, ...serve];
  const [file = '', ...rest] =
    before === undefined ? command : ['sh', '-c', `${before}; exec "$@"`, 'sh', ...command];
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: childEnvironment(env),
  });
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-outputCharactersMax);
  });
  return { child, exited: once(child, 'close'), output: () => text };
}

/** Undefined when the stream ends before a line is whole. */
async function firstLine(stream: NodeJS.ReadableStream): Promise<string | undefined> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  return undefined;
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    systemClock.after(ms, () => resolve(undefined));
  });
}
