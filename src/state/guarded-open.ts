import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { besideModule, type Clock } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import { evidenceKept } from '#signals';
import { openLmdbState, type LmdbState, type LmdbStateOptions } from './lmdb-state.ts';

export interface GuardedStateOptions extends LmdbStateOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly names: StagingNames;
}

/** Something of the state that is gone, by a path that stays beside the store until somebody takes it away. */
export interface StateLoss {
  /** `damaged`: the folder of a store that was set aside; `behind`: a note that the store was missing, or an older copy. */
  readonly kind: 'damaged' | 'behind';
  readonly path: string;
}

export interface GuardedState {
  readonly state: LmdbState;
  /** A note that the store lacks what the journal no longer holds; durable when it resolves. */
  noteBehind(content: Readonly<Record<string, unknown>>): Promise<void>;
  /** Of this start and of earlier ones, in the order of their names. */
  losses(): Promise<readonly StateLoss[]>;
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
  const isDamaged = (await disk.stat(sentinel)) !== undefined && (await isDeadly(directory));
  if (isDamaged) await setAside(options);
  const file = await disk.open(sentinel, 'write');
  await file.close();
  const state = await openLmdbState(options);
  await disk.unlink(sentinel);
  return {
    state,
    // One that was just set aside is told already.
    noteBehind: async (content) => (isDamaged ? undefined : noteBehind(options, content)),
    losses: () => lossesBeside(options),
  };
}

/** Whether opening, reading and writing the store ends a process, or the library calls it damaged. Any other failure is no verdict. */
async function isDeadly(directory: string): Promise<boolean> {
  const probe = besideModule(new URL('./probe-state.ts', import.meta.url), import.meta.url);
  const child = spawn(process.execPath, [fileURLToPath(probe), directory], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.signalCode !== null || child.exitCode === damagedExit;
}

async function setAside({ directory, disk, clock }: GuardedStateOptions): Promise<void> {
  const path = `${directory}.set-aside.${timeOf(clock)}`;
  await disk.rename(directory, path);
  await disk.makeDirectory(directory);
  await disk.syncDirectory(dirname(directory));
  const reason = 'opening this state store ends a process: it is kept, and a new one is begun';
  evidenceKept.publish(() => ({ path, reason }));
}

function timeOf(clock: Clock): string {
  return new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-');
}

async function noteBehind(
  { directory, disk, clock, names }: GuardedStateOptions,
  content: Readonly<Record<string, unknown>>,
): Promise<void> {
  const path = `${directory}.behind.${timeOf(clock)}.json`;
  await atomicReplace(disk, path, Buffer.from(`${JSON.stringify(content)}\n`), names);
  const reason = `the state store ${directory} was missing or is an older copy: what only a newer one knew is gone`;
  evidenceKept.publish(() => ({ path, reason }));
}

const lossKinds: Readonly<Record<StateLoss['kind'], string>> = {
  damaged: '.set-aside.',
  behind: '.behind.',
};

async function lossesBeside({ directory, disk }: GuardedStateOptions): Promise<StateLoss[]> {
  const parent = dirname(directory);
  const names = (await disk.readDirectory(parent)).map(({ name }) => name).toSorted();
  const ofKind = (kind: StateLoss['kind']): StateLoss[] =>
    names
      .filter((name) => name.startsWith(`${basename(directory)}${lossKinds[kind]}`))
      .filter((name) => !name.endsWith('.tmp'))
      .map((name) => ({ kind, path: join(parent, name) }));
  return [...ofKind('damaged'), ...ofKind('behind')];
}
