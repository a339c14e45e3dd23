import { basename, dirname, join } from 'node:path';
import type { Clock } from '#base';
import { atomicReplace, removeTree, whoHolds, type Disk, type StagingNames } from '#disk';
import { daemonNoticed, evidenceKept } from '#signals';
import { stateCorrupt, stateUnavailable } from './errors.ts';
import { openLmdbState, type LmdbState, type LmdbStateOptions } from './lmdb-state.ts';
import { runApart } from './run-apart.ts';

const dataFile = 'data.mdb';
const lockFile = 'lock.mdb';
const salvagingSuffix = '.salvaging';
const salvagedSuffix = '.salvaged';

export interface GuardedStateOptions extends LmdbStateOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly names: StagingNames;
  /** Whether its file is as the last stop in order left it; where nobody can say, or it was changed, the store is looked at. */
  readonly left: 'same' | 'changed' | 'unknown';
  /** The start is given up when it is aborted: a store that another process holds is not waited for any longer. */
  readonly stopping: AbortSignal;
}

/** Something of the state that is gone, by a path that stays beside the store until somebody takes it away. */
export interface StateLoss {
  /** `damaged`: the folder of a store that was set aside; `behind`: a note that the store was missing, or an older copy. */
  readonly kind: 'damaged' | 'behind';
  readonly path: string;
}

/** Damage that a read has met; `since` is RFC 3339. */
export interface StateDamage {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

export interface GuardedState {
  readonly state: LmdbState;
  /** What a read has met in this life: the next start sets the store aside. */
  damage(): StateDamage | undefined;
  /** A note that the store lacks what the journal no longer holds; durable when it resolves. */
  noteBehind(content: Readonly<Record<string, unknown>>): Promise<void>;
  /** Of this start and of earlier ones, in the order of their names. */
  losses(): Promise<readonly StateLoss[]>;
}

/** Exit code of the probe for a store that is damaged. */
const damagedExit = 3;
/** A larger store would hold up the start (ING-821): there a thousand entries of each table are looked at, and the rest as they are read. */
const walkedBytesMax = 128 * 1024 * 1024;
const entriesMost = 1000;

/**
 * Opens the state store. One that is not as a stop in order left it is looked at first by another process, entry by entry, since damaged pages end a process in
 * native code (SC-052); a damaged one is set aside as a whole, kept, and a new one begun of what is sound in it, and of the logs. A sentinel is there while
 * the store is being opened, and from a damaged read on: found at a start, it has the store looked at whatever is said of it.
 * Rejects with the reason of `stopping`, with STATE_LOOK_ENDED, and as openLmdbState does.
 */
export async function openGuardedState(options: GuardedStateOptions): Promise<GuardedState> {
  const { directory, disk } = options;
  const sentinel = `${directory}.opening`;
  await finishReplacement(options);
  let isReplaced = false;
  const replace = async (fault: string): Promise<void> => {
    await replaceStore(options, fault);
    isReplaced = true;
  };
  const isAsLeft = options.left === 'same' && (await disk.stat(sentinel)) === undefined;
  const fault = isAsLeft ? undefined : await faultOf(options);
  if (fault !== undefined) await replace(fault);
  await writeSentinel(disk, sentinel);
  let damage: StateDamage | undefined;
  const order: LmdbStateOptions = {
    ...options,
    // A page that was set back shows nowhere: what the logs say is read again.
    isIndexDoubted: options.left === 'changed',
    onDamage({ code, message }) {
      damage ??= { code, message, since: new Date(options.clock.now()).toISOString() };
      writeSentinel(disk, sentinel).catch(() => undefined);
    },
  };
  const state = await openOr(order, replace);
  if (damage === undefined) await disk.unlink(sentinel);
  return {
    state,
    damage: () => damage,
    // One that was just set aside is told already.
    noteBehind: async (content) => (isReplaced ? undefined : noteBehind(options, content)),
    losses: () => lossesBeside(options),
  };
}

/** Its own records may be damaged where the probe had no look. */
async function openOr(
  order: LmdbStateOptions,
  replace: (fault: string) => Promise<void>,
): Promise<LmdbState> {
  try {
    return await openLmdbState(order);
  } catch (error) {
    if (!stateCorrupt.is(error)) throw error;
    await replace(error.message);
    return openLmdbState(order);
  }
}

async function writeSentinel(disk: Disk, path: string): Promise<void> {
  const file = await disk.open(path, 'write');
  await file.close();
}

/** Why the store cannot be used: it is damaged, or ends who opens it. Any other failure is no verdict. */
async function faultOf(options: GuardedStateOptions): Promise<string | undefined> {
  const { directory, disk } = options;
  const found = await disk.stat(join(directory, dataFile));
  if (found === undefined || found.size === 0) return undefined;
  const most = found.size > walkedBytesMax ? [String(entriesMost)] : [];
  const { code, signal, output } = await runApart(
    new URL('./probe-state.ts', import.meta.url),
    [directory, ...most],
    {
      clock: options.clock,
      stopping: options.stopping,
      onWait: (pid) => void tellHolder(options, pid),
    },
  );
  if (signal !== null) return `opening it ends a process (${signal})`;
  return code === damagedExit ? output : undefined;
}

/** A process that was stopped keeps LMDB's lock, and nobody can break it; so it is told whom the start waits for (ING-T25). */
async function tellHolder({ directory }: GuardedStateOptions, looker: number): Promise<void> {
  const path = join(directory, lockFile);
  const pids = await whoHolds(path, [process.pid, looker]);
  const holders = pids.length === 0 ? 'a process that is not seen' : `process ${pids.join(', ')}`;
  const otherwise = pids.length === 0 ? ', or the disk is slow' : '';
  const message = `the start waits for the state store: ${path} is held by ${holders}${otherwise}; one that was stopped has to go on or be ended (kill -9), then the start goes on by itself; see docs/recovery.md`;
  daemonNoticed.publish(() => ({ code: 'STATE_HELD', message }));
}

/** Sound entries go into a new store beside it, which then takes its place; the old one is kept. */
async function replaceStore(options: GuardedStateOptions, fault: string): Promise<void> {
  const { directory, disk, clock } = options;
  const kept = await salvage(options);
  const path = `${directory}.set-aside.${timeOf(clock)}`;
  await disk.rename(directory, path);
  if (kept === undefined) await disk.makeDirectory(directory);
  else await disk.rename(`${directory}${salvagedSuffix}`, directory);
  await disk.syncDirectory(dirname(directory));
  const what = kept ?? 'nothing of it could be read';
  const reason = `the state store is damaged (${fault}): it is kept, and a new one is begun (${what}; the rest from the logs)`;
  evidenceKept.publish(() => ({ path, reason }));
}

/** In words what was saved; undefined where nothing could be read. Rejects with STATE_UNAVAILABLE where the new store cannot be written. */
async function salvage({
  directory,
  disk,
  clock,
  stopping,
}: GuardedStateOptions): Promise<string | undefined> {
  const half = `${directory}${salvagingSuffix}`;
  await removeTree(half);
  await disk.makeDirectory(half);
  const args = [directory, half];
  const { code, signal, output } = await runApart(
    new URL('./salvage-state.ts', import.meta.url),
    args,
    {
      clock,
      stopping,
      onWait: () => undefined,
    },
  );
  const isThere = ((await disk.stat(join(half, dataFile)))?.size ?? 0) > 0;
  if (code === 0 || (signal !== null && isThere)) {
    await disk.rename(half, `${directory}${salvagedSuffix}`);
    if (code !== 0) return 'what could be read until a page ended the reading process';
    const { kept, lost } = JSON.parse(output) as { readonly kept: number; readonly lost: number };
    return `${kept} entries are sound, ${lost} are lost`;
  }
  await removeTree(half);
  // A full disk is no reason to begin with nothing.
  if (signal === null && code !== damagedExit)
    throw stateUnavailable({ place: directory, reason: 'a new store cannot be written beside it' });
  return undefined;
}

/** A start that was killed between two renames: whole is a salvaged store from the moment it has its name. */
async function finishReplacement({ directory, disk }: GuardedStateOptions): Promise<void> {
  const salvaged = `${directory}${salvagedSuffix}`;
  if ((await disk.stat(salvaged)) === undefined) return;
  if ((await disk.stat(join(directory, dataFile))) === undefined) {
    await removeTree(directory);
    await disk.rename(salvaged, directory);
    await disk.syncDirectory(dirname(directory));
  } else await removeTree(salvaged);
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
