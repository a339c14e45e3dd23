import { join } from 'node:path';
import { messageOf } from '#base';
import type { KeyGuard, KeyStatus, QueueLedger, QueueTotals } from '#queue';
import { type Key, type Position, parseKey, parsePosition } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, backlogBytes, pendingRecords, positionOf } from './key-state.ts';
import { quarantineKey } from './quarantine.ts';
import { readEndingAt } from './read.ts';
import { loadState } from './state-table.ts';

export function createLedger(engine: Engine): QueueLedger {
  return {
    totals: () => totalsOf(engine),
    keyStatus: async (key) => {
      const state = await engine.locks.with(
        key,
        (guard) => loadState(engine, guard),
        undefined,
        'status',
      );
      return state === undefined || !(state.isOpen || state.isOpening)
        ? undefined
        : statusOf(state);
    },
    listKeys: (page) => listKeys(engine, page),
    readRecordEndingAt: (key, after) =>
      engine.locks.with(key, (guard) => recordEndingAt(engine, guard, after), undefined, 'arm'),
    quarantine: (key, fault) =>
      engine.locks.with(key, async (guard) => {
        const state = await loadState(engine, guard);
        if (state !== undefined) await quarantineKey(engine, state, fault);
      }),
    trouble: () => troubleOf(engine),
  };
}

function totalsOf(engine: Engine): QueueTotals {
  const { accepted, applied, dead, discarded, duplicates, keys } = engine.totals;
  let oldest: number | null = null;
  let pending = 0;
  for (const state of engine.table.values()) {
    pending += pendingRecords(state);
    if (state.oldestMs !== null && (oldest === null || state.oldestMs < oldest))
      oldest = state.oldestMs;
  }
  return {
    accepted,
    applied,
    dead,
    discarded,
    duplicates,
    pending,
    quarantinedKeys: engine.quarantined.size,
    activeKeys: engine.active.size,
    knownKeys: keys,
    backlogBytes: engine.backlogBytes,
    oldestPendingMs: oldest,
  };
}

function statusOf(state: KeyState): KeyStatus {
  return {
    key: state.key,
    workspace: state.workspace,
    session: state.session,
    epoch: state.epoch,
    ordinal: state.ordinal,
    owner: state.owner,
    committed: positionOf(state, state.committed),
    end: positionOf(state, state.end),
    pending: pendingRecords(state),
    backlogBytes: backlogBytes(state),
    quarantine: state.quarantine,
    appliedMark: state.applied,
    ...state.totals,
  };
}

/** Names of all session folders and of the keys that have none yet. Read when an operator asks, never on the way of an event. */
async function knownKeys(engine: Engine): Promise<Key[]> {
  const { disk, directory } = engine.options;
  const keys = new Set<Key>();
  for (const state of engine.table.values()) if (state.isOpen) keys.add(state.key);
  const sessions = join(directory, 'sessions');
  for (const shard of await disk.readDirectory(sessions)) {
    if (shard.kind !== 'directory') continue;
    for (const { name } of await disk.readDirectory(join(sessions, shard.name))) {
      const key = parseKey(name);
      if (key !== undefined) keys.add(key);
    }
  }
  return [...keys].toSorted();
}

type Page = Parameters<QueueLedger['listKeys']>[0];

async function listKeys(engine: Engine, page: Page): Promise<readonly KeyStatus[]> {
  const candidates =
    page.state === 'active'
      ? [...engine.active]
      : page.state === 'quarantined'
        ? [...engine.quarantined]
        : await knownKeys(engine);
  const found: KeyStatus[] = [];
  for (const key of candidates.toSorted()) {
    if (page.afterKey !== undefined && key <= page.afterKey) continue;
    if (found.length >= page.limit) break;
    const isKnown = engine.table.get(key) !== undefined;
    const state = await engine.locks.with(
      key,
      (guard) => loadState(engine, guard),
      undefined,
      'list',
    );
    if (state === undefined) continue;
    if (page.session !== undefined && state.session !== page.session) continue;
    if (page.workspace !== undefined && state.workspace !== page.workspace) continue;
    found.push(statusOf(state));
    if (!isKnown) engine.table.evict();
  }
  return found;
}

async function recordEndingAt(
  engine: Engine,
  guard: KeyGuard,
  after: Position,
): Promise<Uint8Array | undefined> {
  const parts = parsePosition(after);
  const state = await loadState(engine, guard);
  if (parts === undefined || state === undefined || parts.epoch !== state.epoch) return undefined;
  return parts.offset > state.end ? undefined : readEndingAt(engine, state, parts.offset);
}

function troubleOf(engine: Engine): ReturnType<QueueLedger['trouble']> {
  const found: { code: string; message: string; since: string }[] = [];
  const journal = engine.journal.trouble;
  if (journal !== undefined)
    found.push({
      code: journal.error.code,
      message: `the journal cannot be written: ${messageOf(journal.error.cause ?? journal.error)}; appends are refused until it can`,
      since: new Date(journal.since).toISOString(),
    });
  const filler = engine.filler.trouble;
  if (filler !== undefined)
    found.push({
      code: 'QUEUE_WRITE_FAILED',
      message: `a session file cannot be written: ${messageOf(filler.error)}; its records are safe in the journal`,
      since: new Date(filler.since).toISOString(),
    });
  return found;
}
