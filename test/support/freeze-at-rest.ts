import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#base';
import type { ChildDaemon } from './child-daemon.ts';

/** Taking a lock that is free takes a millisecond. A machine so slow that this is not enough costs another attempt, and no more. */
const patienceMs = 2000;
const pauseMs = 20;

/**
 * Stops a daemon that holds none of its stores' locks, so that another one can open them: an idle daemon may still flush what it wrote, and one in some
 * hundred freezes meets it in the middle of that. Whoever starts beside it would then wait until it goes on.
 */
export async function freezeAtRest(daemon: ChildDaemon): Promise<void> {
  for (;;) {
    daemon.freeze();
    await untilStopped(daemon);
    if (await isAtRest(daemon.root)) return;
    daemon.thaw();
    await systemClock.sleep(pauseMs);
  }
}

/** Until each thread of a daemon stands still, by a signal or at a failpoint: the kernel says so. One that is in a system call finishes that first. */
export async function untilStopped({ pid }: ChildDaemon): Promise<void> {
  while (!(await isStopped(pid))) await systemClock.sleep(pauseMs);
}

async function isStopped(pid: number): Promise<boolean> {
  const folder = `/proc/${pid}/task`;
  for (const thread of await readdir(folder)) {
    const text = await readFile(`${folder}/${thread}/stat`, 'utf8');
    if (!text.slice(text.lastIndexOf(')')).startsWith(') T')) return false;
  }
  return true;
}

/** Whether the stores of a root can be written by another process than the one that stands still. */
export async function isAtRest(root: string): Promise<boolean> {
  const databases = [join(root, 'control', 'control.db'), join(root, 'graph', 'graph.db')];
  return databases.every(canBeWritten) && (await canStateBeWritten(join(root, 'state', 'daemon')));
}

function canBeWritten(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return true;
  } catch (error) {
    if (error instanceof Error && /database is locked/.test(error.message)) return false;
    throw error;
  } finally {
    database.close();
  }
}

/** LMDB waits for its lock without an end and inside of native code, so another process asks. */
async function canStateBeWritten(directory: string): Promise<boolean> {
  const script = fileURLToPath(new URL('write-state.ts', import.meta.url));
  const child = spawn(process.execPath, [script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (said === '') systemClock.after(patienceMs, () => child.kill('SIGKILL'));
    said += text;
  });
  await closed;
  if (!said.startsWith('asking\n')) throw new Error('the state store could not be asked');
  return said.includes('flushed\n');
}
