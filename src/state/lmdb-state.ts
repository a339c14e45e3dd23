import { open, type RootDatabase } from 'lmdb';
import {
  assert,
  formatTooNew,
  isMillraceError,
  messageOf,
  systemChance,
  type Chance,
  type MillraceError,
} from '#base';
import type { FencePermit } from '#fence';
import type { Key } from '#record';
import {
  decodeCheckpoint,
  decodeDedup,
  decodeEpoch,
  decodeProgress,
  decodeRow,
  unreadProgress,
} from './entry-codec.ts';
import { commitFailureOf } from './commit-failure.ts';
import { isDamagedStore, stateCorrupt, stateUnavailable } from './errors.ts';
import { isForgotten } from './is-forgotten.ts';
import {
  bytesOfEpoch,
  bytesOfId,
  bytesOfKey,
  checkpointKey,
  endOfIds,
  firstIdOf,
  justAfter,
} from './state-keys.ts';
import { seal, unseal } from './seal.ts';
import { StateGuard } from './state-guard.ts';
import { sealedPuts, type SealedPut, type Table } from './state-puts.ts';
import type { StateStore, StateWrite } from './state-store.ts';
import { binary, formatKey, markKey, type Binary } from './tables.ts';
import { WriteTurns } from './write-turns.ts';

export interface LmdbStateOptions {
  /** Folder of the environment (`<root>/state/daemon`), made when it is missing; on a local file system, opened for writing by one process only (FEN-710). */
  readonly directory: string;
  /** Arms the store: from then on no lower generation writes here (FEN-403). */
  readonly permit: FencePermit;
  /** The mark of another domain is replaced and not refused: for a restore, which gives the root another id (FEN-707). */
  readonly takesOver?: boolean;
  /** Makes the name of a new environment. */
  readonly chance?: Chance;
  /** The progress of all keys is forgotten, so that their logs are indexed again (ING-513). */
  readonly isIndexDoubted?: boolean;
  /** A value was read that is damaged; once for each. The reader is told by STATE_CORRUPT. */
  readonly onDamage?: (error: MillraceError) => void;
}

export interface LmdbState extends StateStore {
  /** Names this environment, so that one that was swapped or made anew is noticed (FEN-702). */
  readonly stateUuid: string;
  /** A compact copy of the environment into an empty folder, as of now; the caller sees to it that nothing is written meanwhile (FEN-706). */
  copyTo(directory: string): Promise<void>;
}

/** Version 1 had no checksums; its values are read, and written anew with one. */
export const stateFormatVersion = 2;
/**
 * Address space for the file, of which nothing is taken before it is there. A map that becomes too small is doubled and the old one kept beside it: a store of
 * 192 MiB was resident five times over, with 292 MiB. Windows makes the file as large as its map.
 */
const mapping = process.platform === 'win32' ? {} : { mapSize: 4 * 2 ** 30 };
/** A block is shown to the writer thread when it is complete, however long: it never waits within one. The package has no type for it. */
const wholeBlocks = { batchStartThreshold: 2 ** 30 };
/** A flush begins anew when a write fails beside it: as often as writes fail side by side on a full disk, with room to spare. */
const settleAttemptsMax = 100;
/** Ids looked at, and at most removed, by one transaction: it does not hold the loop for more than a few ms. */
const forgottenMax = 1000;

/**
 * The state of one root in LMDB. Reads are synchronous and see what is committed. A write is one block that LMDB's own thread puts in one transaction, with the
 * check of the mark in it (FEN-406): all of it or nothing, also when a put fails in the middle, which undoes the transaction and whatever else is in it. Where
 * the store is not armed for the permit the write is a child transaction, which says why or raises the mark; the package's plain `transaction` would keep earlier
 * puts when its callback throws. A permit that has ended begins nothing; what was handed over before lands unless another holder has raised the mark (B196). 4 to
 * 5 µs of the main thread for an id with its hash; a get takes 1 µs.
 */
export async function openLmdbState(options: LmdbStateOptions): Promise<LmdbState> {
  const { directory, permit, chance = systemChance } = options;
  const env: RootDatabase<Buffer, Buffer> = open({
    path: directory,
    noSubdir: false,
    maxDbs: 8,
    // With batches by event turn the package makes a promise for each batch that nobody can catch, and a full disk would end the process.
    eventTurnBatching: false,
    ...wholeBlocks,
    ...mapping,
    ...binary,
  });
  try {
    const isNew = env.get(formatKey) === undefined;
    const stateUuid = await readFormat(env, directory, chance);
    const table = (name: Table): Binary => env.openDB({ name, ...binary });
    const tables = {
      dedup: table('dedup'),
      progress: table('progress'),
      row: table('row'),
      epoch: table('epoch'),
      checkpoint: table('checkpoint'),
    };
    if (options.takesOver === true) await env.childTransaction(() => void env.removeSync(markKey));
    const state = new OpenState(options, stateUuid, env, tables);
    await state.arm(permit, isNew ? [{ table: 'checkpoint', through: 0 }] : []);
    if (options.isIndexDoubted === true) await state.doubtIndex(permit);
    await state.flush();
    return state;
  } catch (error) {
    await env.close();
    throw error;
  }
}

/** The environment's own record; made at its first opening. */
async function readFormat(env: Binary, directory: string, chance: Chance): Promise<string> {
  const stored = env.get(formatKey);
  if (stored === undefined) {
    const uuid = chance.uuid();
    await env.put(formatKey, formatOf(uuid));
    return uuid;
  }
  const thing = `the state in ${directory}`;
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(stored.toString('latin1')) as typeof value;
  } catch (error) {
    throw stateCorrupt({ thing, reason: 'its format record is not JSON' }, error);
  }
  const { v, state_uuid: uuid } = value;
  if (typeof v === 'number' && v > stateFormatVersion)
    throw formatTooNew({ thing, found: v, known: stateFormatVersion });
  if (typeof uuid !== 'string') throw stateCorrupt({ thing, reason: 'it has no state_uuid' });
  // A program that knows no checksums must not meet one.
  if (v !== stateFormatVersion) await env.put(formatKey, formatOf(uuid));
  return uuid;
}

function formatOf(uuid: string): Buffer {
  return Buffer.from(JSON.stringify({ v: stateFormatVersion, state_uuid: uuid }));
}

class OpenState implements LmdbState {
  readonly stateUuid: string;
  readonly #directory: string;
  readonly #onDamage: (error: MillraceError) => void;
  readonly #env: RootDatabase<Buffer, Buffer>;
  readonly #tables: Readonly<Record<Table, Binary>>;
  /** Whether the last write was committed. */
  #lastWrite: Promise<boolean> = Promise.resolve(true);
  readonly #guard: StateGuard;
  /** A block that fails within the writer thread would leave the package a callback that it can neither run nor refuse. */
  readonly #turns = new WriteTurns<'block' | 'callback'>();
  readonly #onFailure = new Set<(isFlushed: false) => void>();
  #isOpen = true;

  constructor(
    { directory, onDamage }: LmdbStateOptions,
    stateUuid: string,
    env: RootDatabase<Buffer, Buffer>,
    tables: Readonly<Record<Table, Binary>>,
  ) {
    this.#directory = directory;
    this.#onDamage = onDamage ?? (() => undefined);
    this.stateUuid = stateUuid;
    this.#env = env;
    this.#tables = tables;
    this.#guard = new StateGuard(env, tables.checkpoint, directory);
  }

  getDedup: StateStore['getDedup'] = (key, eventId) => {
    return this.#read('dedup', bytesOfId(key, eventId), (value) => decodeDedup(value, key));
  };

  getProgress: StateStore['getProgress'] = (key) => {
    return this.#read('progress', bytesOfKey(key), (value) => decodeProgress(value, key));
  };

  getRow: StateStore['getRow'] = (key) => {
    return this.#read('row', bytesOfKey(key), (value) => decodeRow(value, key));
  };

  getEpoch: StateStore['getEpoch'] = (key, ordinal) => {
    return this.#read('epoch', bytesOfEpoch(key, ordinal), (value) => decodeEpoch(value, key));
  };

  checkpointedThrough(): number | undefined {
    return this.#read('checkpoint', checkpointKey, decodeCheckpoint);
  }

  rowKeys: StateStore['rowKeys'] = ({ after, limit }) => {
    assert(this.#isOpen, 'the state store is open');
    const start = after === undefined ? Buffer.of(0) : justAfter(bytesOfKey(after));
    const found = this.#tables.row.getKeys({ start, limit });
    return Array.from(found, (key) => Buffer.from(key).toString('latin1') as Key);
  };

  forgetIds: StateStore['forgetIds'] = async (permit, key, which) => {
    let count = 0;
    let start = firstIdOf(key);
    const end = endOfIds(key);
    for (;;) {
      assert(this.#isOpen, 'the state store is open');
      const page = Array.from(this.#tables.dedup.getRange({ start, end, limit: forgottenMax }));
      const gone = page.filter((entry) =>
        isForgotten(
          this.#opened('dedup', entry.key, entry.value, (value) => decodeDedup(value, key)),
          which,
        ),
      );
      await this.#transact(() => {
        this.#guard.raise(permit);
        for (const entry of gone) this.#tables.dedup.removeSync(entry.key);
      });
      count += gone.length;
      const last = page.at(-1);
      if (last === undefined || page.length < forgottenMax) return count;
      start = justAfter(last.key);
    }
  };

  /** A key without any progress would count as new: it is set back to the beginning, whatever epoch is met. */
  async doubtIndex(permit: FencePermit): Promise<void> {
    const keys = Array.from(this.#tables.progress.getKeys(), (key) => Buffer.from(key));
    for (let at = 0; at < keys.length; at += forgottenMax)
      await this.#transact(() => {
        this.#guard.raise(permit);
        for (const key of keys.slice(at, at + forgottenMax))
          this.#put({ table: 'progress', key, value: seal(key, unreadProgress) });
      });
  }

  async write(permit: FencePermit, writes: readonly StateWrite[]): Promise<void> {
    assert(this.#isOpen, 'the state store is open');
    await this.#noted(this.#write(permit, sealedPuts(writes)));
  }

  /** A store that is not armed for this permit is not written by the first way: the second says why, or arms it. */
  async #write(permit: FencePermit, encoded: readonly SealedPut[]): Promise<void> {
    const hand = (): void => {
      for (const { table, key, value } of encoded)
        if (value === undefined) void this.#tables[table].remove(key);
        else void this.#tables[table].put(key, value);
    };
    const block = (): Promise<boolean> => this.#guard.whileArmed(permit, hand);
    if (await this.#told(this.#turns.run('block', block))) return;
    await this.#callback(() => {
      this.#guard.raise(permit);
      for (const put of encoded) this.#put(put);
    });
  }

  /** Before anything is read (FEN-403). */
  async arm(permit: FencePermit, writes: readonly StateWrite[]): Promise<void> {
    const encoded = sealedPuts(writes);
    await this.#transact(() => {
      this.#guard.raise(permit);
      for (const put of encoded) this.#put(put);
    });
  }

  /** A resolved write is visible, not yet on disk (FEN-407). */
  async flush(): Promise<void> {
    assert(this.#isOpen, 'the state store is open');
    await this.#settle();
  }

  async copyTo(directory: string): Promise<void> {
    assert(this.#isOpen, 'the state store is open');
    await this.#settle();
    try {
      await this.#env.backup(directory, true);
    } catch (error) {
      throw this.#unavailable(messageOf(error), error);
    }
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#settle();
    await this.#env.close();
  }

  #read<T>(table: Table, key: Buffer, decode: (value: Uint8Array) => T): T | undefined {
    assert(this.#isOpen, 'the state store is open');
    try {
      const stored = this.#tables[table].get(key);
      return stored === undefined ? undefined : this.#opened(table, key, stored, decode);
    } catch (error) {
      throw this.#asDamage(table, error);
    }
  }

  /** The value behind its checksum. */
  #opened<T>(table: string, key: Buffer, stored: Buffer, decode: (value: Uint8Array) => T): T {
    const unsealed = unseal(key, stored);
    if ('value' in unsealed) return decode(unsealed.value);
    throw stateCorrupt({ thing: `an entry of ${table}`, reason: unsealed.fault });
  }

  /** What the library calls damaged is told as such; anything else goes on as it is. */
  #asDamage(table: Table, error: unknown): unknown {
    const isDamage = stateCorrupt.is(error) || isDamagedStore(error);
    if (!isDamage) return error;
    const told = stateCorrupt.is(error)
      ? error
      : stateCorrupt({ thing: `the table ${table}`, reason: messageOf(error) }, error);
    this.#onDamage(told);
    return told;
  }

  #transact(step: () => void): Promise<void> {
    return this.#noted(this.#callback(step));
  }

  #callback(step: () => void): Promise<void> {
    return this.#told(this.#turns.run('callback', () => this.#env.childTransaction(step)));
  }

  /** A flush waits for all that was begun before it; whether the last one was committed says what it has to do. */
  #noted<T>(written: Promise<T>): Promise<T> {
    const before = this.#lastWrite;
    const isCommitted = written.then(
      () => true,
      () => false,
    );
    this.#lastWrite = before.then(() => isCommitted);
    return written;
  }

  async #told<T>(written: Promise<T>): Promise<T> {
    try {
      return await written;
    } catch (error) {
      for (const wake of this.#onFailure) wake(false);
      if (isMillraceError(error)) throw error;
      const { reason, cause } = await commitFailureOf(error);
      throw this.#unavailable(reason, cause);
    }
  }

  /**
   * The package waits for ever for the flush of a commit that failed, and may lose an earlier one with it; a transaction without changes after
   * it brings all of them on.
   */
  async #settle(): Promise<void> {
    for (let attempt = 0; attempt < settleAttemptsMax; attempt += 1) {
      if (!(await this.#lastWrite)) await this.#transact(() => undefined);
      if (await this.#isFlushed()) return;
    }
    throw this.#unavailable('one write after another failed while it was to be flushed');
  }

  /** False as soon as a write fails meanwhile. */
  #isFlushed(): Promise<boolean> {
    return new Promise((resolve) => {
      const answer = (isFlushed: boolean): void => {
        this.#onFailure.delete(answer);
        resolve(isFlushed);
      };
      this.#onFailure.add(answer);
      this.#env.flushed.then(
        () => answer(true),
        () => answer(false),
      );
    });
  }

  #unavailable(reason: string, cause?: unknown): MillraceError {
    return stateUnavailable({ place: this.#directory, reason }, cause);
  }

  #put({ table, key, value }: SealedPut): void {
    if (value === undefined) this.#tables[table].removeSync(key);
    else this.#tables[table].putSync(key, value);
  }
}
