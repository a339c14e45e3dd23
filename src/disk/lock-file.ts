import { chmod, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '#base';
import { lockUnavailable, rootLocked } from './errors.ts';
import { platformCode } from './platform-error.ts';

/**
 * A lock that the kernel holds for this process until it is released or the process ends, however it ends (D7, ROOT-99, ROOT-100).
 * Nothing else may open the file: closing any other descriptor of it in this process frees the lock (ROOT-377).
 */
export interface FileLock {
  readonly path: string;
  /** False when the file is gone or another one stands at its path: then the exclusion is lost (ING-310). */
  stillHeld(): Promise<boolean>;
  /** Gives the lock up; a second call does nothing. The file stays. */
  release(): void;
}

interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  readonly mode: bigint;
}

interface Held {
  readonly identity: Identity;
  /** Referenced from here, since a collected connection is closed and frees the lock (ROOT-376). */
  readonly connection: DatabaseSync;
}

/** Every lock of this process, by real path (ROOT-104). A path is claimed before the first wait, so that two callers cannot both begin. */
const held = new Map<string, Held | 'being taken'>();

/** Teardown may delete the file between two of our steps (ROOT-103); more than a few rounds of that is not chance. */
const attemptsMax = 5;
const sqliteBusy = 5;

/**
 * Takes the lock at once or refuses: ROOT_LOCKED while another holder has it, also one that is stopped; LOCK_UNAVAILABLE for any other
 * reason. Makes the empty, owner-only file where it is missing. Rules ROOT-99…106, ROOT-375…377.
 */
export async function lockFile(path: string): Promise<FileLock> {
  const real = await realPathOf(path);
  if (held.has(real)) throw rootLocked({ path, holder: 'this process' });
  held.set(real, 'being taken');
  try {
    const taken = await take(path, real);
    held.set(real, taken);
    return lockOf(path, real, taken);
  } catch (error) {
    held.delete(real);
    throw error;
  }
}

function lockOf(path: string, real: string, { identity, connection }: Held): FileLock {
  return {
    path,
    async stillHeld() {
      if (!connection.isOpen || !connection.isTransaction) return false;
      const now = await identityOf(real);
      return now !== undefined && isSameFile(now, identity);
    },
    release() {
      if (!connection.isOpen) return;
      connection.close();
      held.delete(real);
    },
  };
}

/** The file may not be there yet; its folder must be. */
async function realPathOf(path: string): Promise<string> {
  try {
    return join(await realpath(dirname(path)), basename(path));
  } catch (error) {
    throw lockUnavailable({ path, reason: messageOf(error) }, error);
  }
}

async function take(path: string, real: string): Promise<Held> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const before = await prepare(path, real);
    if (before === undefined) continue;
    refuseOwn(path, before);
    const connection = beginExclusive(path, real);
    const after = await identityOf(real);
    if (after !== undefined && isSameFile(after, before)) return { identity: after, connection };
    connection.close();
  }
  throw lockUnavailable({ path, reason: 'the file was exchanged at every attempt' });
}

/** The same file under another name, such as a bind mount: opening and closing it would free the lock that we hold. */
function refuseOwn(path: string, identity: Identity): void {
  for (const other of held.values()) {
    if (other !== 'being taken' && isSameFile(other.identity, identity))
      throw rootLocked({ path, holder: 'this process' });
  }
}

/** Undefined when another process made or removed the file just now. */
async function prepare(path: string, real: string): Promise<Identity | undefined> {
  const found = await identityOf(real);
  if (found === undefined) {
    await createEmpty(path, real);
    return identityOf(real);
  }
  if (found.size > 0n) throw lockUnavailable({ path, reason: 'the file is not empty' });
  if ((found.mode & 0o077n) !== 0n) await chmod(real, 0o600);
  return found;
}

async function createEmpty(path: string, real: string): Promise<void> {
  try {
    await (await open(real, 'wx', 0o600)).close();
  } catch (error) {
    if (platformCode(error) === 'EEXIST') return;
    throw lockUnavailable({ path, reason: messageOf(error) }, error);
  }
}

/** Journal in memory: with the default mode a second file would arise beside the lock (ROOT-375). */
function beginExclusive(path: string, real: string): DatabaseSync {
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(real, { timeout: 0 });
    connection.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    connection?.close();
    if (isBusy(error)) throw rootLocked({ path }, error);
    throw lockUnavailable({ path, reason: messageOf(error) }, error);
  }
}

/** The low byte is the plain code of an extended one. */
function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' && (code & 0xff) === sqliteBusy;
}

/** `stat`, never `open` (ROOT-377); as bigint, since an inode may be above 2^53. */
async function identityOf(real: string): Promise<Identity | undefined> {
  try {
    const { dev, ino, size, mode } = await stat(real, { bigint: true });
    return { device: dev, inode: ino, size, mode };
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw lockUnavailable({ path: real, reason: messageOf(error) }, error);
  }
}

function isSameFile(a: Identity, b: Identity): boolean {
  return a.device === b.device && a.inode === b.inode;
}
