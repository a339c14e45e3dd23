import { sha256Hex } from '#base';
import type { KeyStatus, QueueLedger, QueueTotals } from '#queue';
import { parsePosition, type Key, type Position } from '#record';
import { assertWriter, type Engine } from './engine.ts';
import { stopKey } from './stop-key.ts';
import {
  backlogBytes,
  committedOffset,
  endOf,
  ordinal,
  pendingCount,
  positionAt,
  type StoredKey,
} from './stored-key.ts';

type Page = Parameters<QueueLedger['listKeys']>[0];

/** The books of a memory queue (ING-717): read from the store, which holds every key whole. */
export function readTotals(engine: Engine): QueueTotals {
  const { store } = engine;
  const sum = { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0 };
  const totals = { pending: 0, quarantinedKeys: 0, oldestPendingMs: null as number | null };
  for (const stored of store.keys.values()) {
    for (const member of Object.keys(sum) as (keyof typeof sum)[])
      sum[member] += stored.totals[member];
    totals.pending += pendingCount(stored);
    if (stored.quarantine !== null) totals.quarantinedKeys += 1;
    const oldest = stored.records[stored.committedCount]?.acceptedMs;
    if (oldest !== undefined)
      totals.oldestPendingMs = Math.min(totals.oldestPendingMs ?? oldest, oldest);
  }
  const { active, keys } = store;
  return {
    ...sum,
    ...totals,
    activeKeys: active.size,
    knownKeys: keys.size,
    backlogBytes: store.backlogBytes,
  };
}

export function statusOf(stored: StoredKey): KeyStatus {
  return {
    ...stored.totals,
    key: stored.key,
    workspace: stored.workspace,
    session: stored.session,
    epoch: stored.epoch,
    ordinal,
    isFinalised: false,
    owner: stored.owner,
    committed: positionAt(stored.epoch, committedOffset(stored)),
    end: positionAt(stored.epoch, endOf(stored)),
    pending: pendingCount(stored),
    backlogBytes: backlogBytes(stored),
    quarantine: stored.quarantine,
    appliedMark: stored.applied,
  };
}

export function listStatus(engine: Engine, page: Page): readonly KeyStatus[] {
  const isWanted = (stored: StoredKey): boolean =>
    (page.afterKey === undefined || stored.key > page.afterKey) &&
    (page.session === undefined || stored.session === page.session) &&
    (page.workspace === undefined || stored.workspace === page.workspace) &&
    (page.state !== 'active' || pendingCount(stored) > 0) &&
    (page.state !== 'dead' || stored.totals.dead > 0) &&
    (page.state !== 'lettered' || stored.letters.size > 0) &&
    (page.state !== 'quarantined' || stored.quarantine !== null);
  return [...engine.store.keys.values()]
    .filter(isWanted)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, page.limit)
    .map(statusOf);
}

export function digestEndingAt(engine: Engine, key: Key, after: Position): string | undefined {
  const stored = engine.store.keys.get(key);
  const parts = parsePosition(after);
  if (stored === undefined || parts?.epoch !== stored.epoch) return undefined;
  const record = stored.records.find(({ end }) => end === parts.offset);
  return record === undefined ? undefined : sha256Hex(record.raw);
}

export async function quarantine(
  engine: Engine,
  key: Key,
  fault: { readonly code: string; readonly message: string },
): Promise<void> {
  await engine.locks.with(key, async () => {
    assertWriter(engine);
    const stored = engine.store.keys.get(key);
    if (stored === undefined || stored.quarantine !== null) return;
    await engine.line.hand({
      apply: () => stopKey(engine, stored, fault),
      failed: () => undefined,
    });
  });
}
