import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { besideModule, type Clock } from '#base';
import type { Disk } from '#disk';
import { evidenceKept } from '#signals';
import { openLmdbState, type LmdbState, type LmdbStateOptions } from './lmdb-state.ts';

export interface GuardedStateOptions extends LmdbStateOptions {
  readonly disk: Disk;
  readonly clock: Clock;
}

export interface GuardedState {
  readonly state: LmdbState;
  /** Folders of damaged stores that were set aside at this start or an earlier one, and that nobody has taken away yet. */
  readonly setAside: readonly string[];
}

/** Exit code of the probe for a store that the library itself calls damaged. */
const damagedExit = 3;

/**
 * Opens the state store behind a sentinel: a file that is there while the store is being opened. Found at a start, it says that the last opening
 * ended the process, which damaged pages do in native code (SC-052); then another process tries first, and only a store that ends that one too
 * is set aside as a whole, kept, and begun anew. A start that was merely killed at that moment costs one probe.
 */
export async function openGuardedState(options: GuardedStateOptions): Promise<GuardedState> {
  const { directory, disk } = options;
  const sentinel = `${directory}.opening`;
  if ((await disk.stat(sentinel)) !== undefined && (await isDeadly(directory)))
    await setAside(options);
  const file = await disk.open(sentinel, 'write');
  await file.close();
  const state = await openLmdbState(options);
  await disk.unlink(sentinel);
  return { state, setAside: await foldersSetAside(options) };
}

/** Whether opening, reading and writing the store ends a process, or the library calls it damaged. Any other failure is no verdict. */
async function isDeadly(directory: string): Promise<boolean> {
  const probe = besideModule(new URL('./probe-state.ts', import.meta.url), import.meta.url);
  const child = spawn(process.execPath, [fileURLToPath(probe), directory], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.signalCode !== null || child.exitCode === damagedExit;
}

async function setAside({ directory, disk, clock }: GuardedStateOptions): Promise<void> {
  const time = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-');
  const path = `${directory}.set-aside.${time}`;
  await disk.rename(directory, path);
  await disk.makeDirectory(directory);
  await disk.syncDirectory(dirname(directory));
  const reason = 'opening this state store ends a process: it is kept, and a new one is begun';
  evidenceKept.publish(() => ({ path, reason }));
}

async function foldersSetAside({ directory, disk }: GuardedStateOptions): Promise<string[]> {
  const parent = dirname(directory);
  return (await disk.readDirectory(parent))
    .map(({ name }) => name)
    .filter((name) => name.startsWith(`${basename(directory)}.set-aside.`))
    .map((name) => join(parent, name));
}
