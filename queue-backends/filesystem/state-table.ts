import { isMillraceError } from '#base';
import { type KeyGuard, offsetBeyondLog, recordCorrupt } from '#queue';
import { type Key, keyParts } from '#record';
import { type Engine, noteBacklog } from './engine.ts';
import { type KeyState, isEvictable, newKeyState, zeroTotals } from './key-state.ts';
import type { OffsetRecord } from './offset-record.ts';
import { countLines } from './read-lines.ts';

/** Idle keys that stay in memory for their next event. */
const idleStatesMax = 4096;

/** The keys in memory. A key that is idle is read again from its files when it is needed (QFS-15). */
export class StateTable {
  readonly #states = new Map<Key, KeyState>();
  #tick = 0;

  /** The key's state if it is in memory. */
  get(key: Key): KeyState | undefined {
    const state = this.#states.get(key);
    if (state !== undefined) state.lastUsed = ++this.#tick;
    return state;
  }

  put(state: KeyState): void {
    state.lastUsed = ++this.#tick;
    this.#states.set(state.key, state);
  }

  values(): IterableIterator<KeyState> {
    return this.#states.values();
  }

  /** Forgets idle keys beyond the limit, least recently used first. */
  evict(limit: number = idleStatesMax): void {
    if (this.#states.size <= limit) return;
    const idle = [...this.#states.values()]
      .filter(isEvictable)
      .toSorted((a, b) => a.lastUsed - b.lastUsed);
    for (const state of idle.slice(0, this.#states.size - limit)) this.#states.delete(state.key);
  }
}

/** The state of a key, from memory or from its files; undefined for a key that was never seen. Damage puts the key into quarantine. */
export async function loadState(engine: Engine, guard: KeyGuard): Promise<KeyState | undefined> {
  const { key } = guard;
  const known = engine.table.get(key);
  if (known !== undefined) return known;
  let state: KeyState | undefined;
  try {
    const record = await engine.records.read(key, engine.files.folderOf(key));
    state =
      record === undefined
        ? await withoutRecord(engine, key)
        : await fromRecord(engine, key, record);
  } catch (error) {
    if (!isMillraceError(error) || error.disposition !== 'corrupt') throw error;
    state = await damaged(engine, key, error.code, error.message);
  }
  if (state === undefined) return undefined;
  await reindex(engine, state);
  engine.table.put(state);
  noteBacklog(engine, state, engine.active.has(key) ? state.end - state.committed : 0);
  return state;
}

/** A state for a key that was never seen; its first append opens the epoch (ING-125). */
export function freshState(engine: Engine, key: Key, workspace: string, session: string): KeyState {
  const row = engine.options.state.getRow(key);
  const state = newKeyState(
    key,
    engine.options.chance.uuid(),
    row === undefined ? 0 : row.ordinal + 1,
  );
  state.workspace = workspace;
  state.session = session;
  if (row !== undefined) {
    state.owner = row.owner;
    state.cursor = row.cursor;
    state.baseCursor = row.cursor;
    state.cursorText = JSON.stringify(row.cursor);
    state.applied = row.sha256 === null ? null : { position: row.position, sha256: row.sha256 };
    Object.assign(state.totals, row.totals);
  }
  engine.table.put(state);
  return state;
}

export function applyRecord(state: KeyState, record: OffsetRecord): void {
  state.workspace = record.workspace;
  state.session = record.session_id;
  state.owner = record.owner;
  state.gen = record.gen;
  state.base = record.base;
  state.committed = record.offset;
  state.committedRecords = record.committed_records;
  state.end = record.log_end;
  state.endRecords = record.log_records;
  state.nextOffset = record.log_end;
  state.filledTo = record.log_end;
  state.isOpen = true;
  state.hasFolder = true;
  state.isFolderSynced = true;
  state.cursor = record.cursor;
  state.cursorText = JSON.stringify(record.cursor);
  state.seq = record.seq;
  state.applied = record.applied;
  state.lastFrame = record.frame;
  state.checkpointedFrame = record.frame;
  Object.assign(state.totals, record.totals);
}

async function fromRecord(engine: Engine, key: Key, record: OffsetRecord): Promise<KeyState> {
  const state = newKeyState(key, record.epoch, record.ordinal);
  applyRecord(state, record);
  if (record.offset > record.log_end)
    throw offsetBeyondLog({ key, offset: record.offset, end: record.log_end });
  const generation = await engine.files.readGeneration(key, record.gen);
  state.baseCursor = generation?.cursor ?? null;
  const bytes = state.base + (await engine.files.logBytes(state));
  if (bytes < record.log_end)
    throw recordCorrupt({
      key,
      place: `${bytes} of ${record.log_end}`,
      reason: 'the log ends before its checkpointed end',
    });
  return state;
}

/** No offset record: a key that was never seen, or one whose record is gone; then the generation file says where the log begins (ING-823). */
async function withoutRecord(engine: Engine, key: Key): Promise<KeyState | undefined> {
  const generation = await engine.files.readGeneration(key, 0);
  if (generation === undefined) return undefined;
  const state = newKeyState(key, generation.epoch, generation.ordinal);
  state.workspace = generation.workspace;
  state.session = generation.session_id;
  state.isOpen = true;
  state.hasFolder = true;
  state.cursor = generation.cursor;
  state.baseCursor = generation.cursor;
  state.cursorText = JSON.stringify(generation.cursor);
  const lines = await countLines(engine.files, state, 0, await engine.files.logBytes(state));
  state.end = lines.end;
  state.endRecords = lines.records;
  state.nextOffset = lines.end;
  state.filledTo = lines.end;
  Object.assign(state.totals, { ...zeroTotals, accepted: lines.records });
  return state;
}

/** What can still be said of a key whose record or log is damaged: enough to take new events behind the damage (ING-411). */
async function damaged(engine: Engine, key: Key, code: string, message: string): Promise<KeyState> {
  const generation = await engine.files.readGeneration(key, 0);
  const row = engine.options.state.getRow(key);
  const parts = keyParts(key);
  const state = newKeyState(
    key,
    generation?.epoch ?? row?.epoch ?? engine.options.chance.uuid(),
    generation?.ordinal ?? row?.ordinal ?? 0,
  );
  state.workspace = generation?.workspace ?? row?.workspace ?? parts?.workspace ?? '';
  state.session = generation?.session_id ?? row?.session ?? parts?.session ?? '';
  state.owner = row?.owner ?? null;
  state.isOpen = true;
  state.hasFolder = true;
  const bytes = await engine.files.logBytes(state);
  state.end = bytes;
  state.committed = bytes;
  state.nextOffset = bytes;
  state.filledTo = bytes;
  const totals = row?.totals ?? zeroTotals;
  Object.assign(state.totals, totals);
  state.endRecords = totals.accepted - totals.discarded - totals.dead;
  state.committedRecords = totals.applied;
  state.quarantine = { code, message, since: new Date(engine.options.clock.now()).toISOString() };
  engine.quarantined.add(key);
  return state;
}

/** Ids of a log that the index has not read: after a loss of the state store (ING-513). */
async function reindex(engine: Engine, state: KeyState): Promise<void> {
  const progress = engine.options.state.getProgress(state.key);
  const from = progress?.epoch === state.epoch ? progress.indexedThrough : state.base;
  if (from >= state.end || state.quarantine !== null) return;
  await countLines(engine.files, state, from, state.end, (offset, length, raw) => {
    const id =
      /^\{"v":1,(?:"sid":"(?:[^"\\]|\\.)*",)?"id":("(?:[^"\\]|\\.)*")(,"derived":true)?/.exec(
        Buffer.from(raw).toString('utf8', 0, 4096),
      );
    if (id?.[1] === undefined) return;
    engine.indexer.add(state, JSON.parse(id[1]) as string, {
      ordinal: state.ordinal,
      offset,
      length,
      status: 'live',
      isDerivedId: id[2] !== undefined,
    });
  });
}
