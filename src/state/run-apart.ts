import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { besideModule, type Clock } from '#base';
import { stateLookEnded } from './errors.ts';

/** How a process ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  /** Set where a fault in native code ended it. */
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** A process that takes longer than this waits for a lock, or for a disk: then it is told. */
const patienceMs = 2000;
const outputMost = 4096;
/** What damaged pages end a process with. Any other signal came from outside: a terminal's ^C, a machine without memory, an operator. */
const faultSignals: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGSEGV',
  'SIGBUS',
  'SIGABRT',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
]);

export interface ApartOptions {
  readonly clock: Clock;
  /** Called once, after 2 s, with the process that takes so long. */
  readonly onWait: (pid: number) => void;
  /** Ends the process when it is aborted. */
  readonly stopping: AbortSignal;
}

/**
 * Runs a module of this room as a process of its own: damaged pages end a process in native code, before any catch, and a lock that a stopped process holds is
 * waited for without an end. The first argument is the folder of the store. Rejects with the signal's reason when the start is stopped meanwhile (P10), and with
 * STATE_LOOK_ENDED (`retry`) when somebody else ended it: that is no word about the store.
 */
export async function runApart(
  module: URL,
  args: readonly string[],
  { clock, onWait, stopping }: ApartOptions,
): Promise<Ended> {
  stopping.throwIfAborted();
  const source = besideModule(module, import.meta.url);
  const child = spawn(process.execPath, [fileURLToPath(source), ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(0, outputMost);
  });
  const late = clock.after(patienceMs, () => onWait(child.pid ?? 0));
  const end = (): void => void child.kill('SIGKILL');
  stopping.addEventListener('abort', end, { once: true });
  try {
    await once(child, 'close');
  } finally {
    late.cancel();
    stopping.removeEventListener('abort', end);
  }
  stopping.throwIfAborted();
  const { exitCode: code, signalCode: signal } = child;
  if (signal !== null && !faultSignals.has(signal))
    throw stateLookEnded({ place: args[0] ?? '', signal });
  return { code, signal, output };
}
