import { sha256Hex } from '#base';
import type { KeyStatus, QueueLedger, QueueTotals } from '#queue';
import { type Key, type Position, keyParts, parsePosition } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, backlogBytes, pendingRecords, positionOf } from './session/key-state.ts';
import { quarantineKey } from './quarantine.ts';
import { readEndingAt } from './session/read-record.ts';
import { stopOnDamage, withState } from './with-state.ts';
import { keysOnDisk } from './recovery/recovery-finish.ts';
import { troubleOf } from './trouble.ts';

export function createLedger(engine: Engine): QueueLedger {
  return {
    totals: () => totalsOf(engine),
    keyStatus: (key) =>
      withState(engine, key, 'status', async (state) =>
        state?.isOpen === true ? statusOf(state) : undefined,
      ),
    listKeys: (page) => listKeys(engine, page),
    digestEndingAt: (key, after) =>
      withState(engine, key, 'arm', (state) => digestEndingAt(engine, state, after)),
    quarantine: (key, fault) =>
      withState(engine, key, 'quarantine', async (state) => {
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
    duplicates: duplicates + engine.pendingDuplicates,
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
    duplicates: state.totals.duplicates + state.pendingDuplicates,
  };
}

/** Names of all session folders and of the keys that have none yet. Read when an operator asks, never on the way of an event. */
async function knownKeys(engine: Engine): Promise<Key[]> {
  const keys = new Set(await keysOnDisk(engine));
  for (const state of engine.table.values()) if (state.isOpen) keys.add(state.key);
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
    if (!mayMatch(key, page)) continue;
    if (found.length >= page.limit) break;
    const state = await withState(engine, key, 'list', async (found) => found);
    if (state === undefined) continue;
    if (page.session !== undefined && state.session !== page.session) continue;
    if (page.workspace !== undefined && state.workspace !== page.workspace) continue;
    found.push(statusOf(state));
  }
  return found;
}

/** What the key alone can rule out, without a look at its files. */
function mayMatch(key: Key, { session, workspace }: Page): boolean {
  const parts = keyParts(key);
  if (parts === undefined) return true;
  return (
    (session === undefined || parts.session === session) &&
    (workspace === undefined || parts.workspace === workspace)
  );
}

async function digestEndingAt(
  engine: Engine,
  state: KeyState | undefined,
  after: Position,
): Promise<string | undefined> {
  const parts = parsePosition(after);
  if (parts === undefined || state === undefined) return undefined;
  if (state.applied?.position === after) return state.applied.sha256;
  if (parts.epoch !== state.epoch || parts.offset > state.end) return undefined;
  // Compacted away: the generation file keeps the digest of the last record before its base.
  if (parts.offset === state.base)
    return state.base === 0 ? undefined : (state.digestBefore ?? undefined);
  const raw = await stopOnDamage(engine, state, () => readEndingAt(engine, state, parts.offset));
  return raw === undefined ? undefined : sha256Hex(raw);
}
