import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { besideModule, type Clock } from '#base';

/** How a process ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  /** Set where it was ended from outside, or by a fault in native code. */
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** A process that takes longer than this waits for a lock, or for a disk: then it is told. */
const patienceMs = 2000;
const outputMost = 4096;

/**
 * Runs a module of this room as a process of its own: damaged pages end a process in native code, before any catch, and a lock that a stopped process holds is
 * waited for without an end. `onWait` is called once, after 2 s.
 */
export async function runApart(
  module: URL,
  args: readonly string[],
  { clock, onWait }: { readonly clock: Clock; readonly onWait: () => void },
): Promise<Ended> {
  const source = besideModule(module, import.meta.url);
  const child = spawn(process.execPath, [fileURLToPath(source), ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(0, outputMost);
  });
  const late = clock.after(patienceMs, onWait);
  try {
    await once(child, 'close');
  } finally {
    late.cancel();
  }
  return { code: child.exitCode, signal: child.signalCode, output };
}
