import { sha256Hex } from '#base';
import type { QueueLedger, QueueTotals } from '#queue';
import { type Key, type Position, parsePosition } from '#record';
import type { Engine } from './engine.ts';
import { keptDigest, listKeys, statusOfKey } from './known-keys.ts';
import { type KeyState, pendingRecords } from './session/key-state.ts';
import { quarantineKey } from './quarantine.ts';
import { readEndingAt } from './session/read-record.ts';
import { stopOnDamage, withState } from './with-state.ts';
import { troubleOf } from './trouble.ts';

export function createLedger(engine: Engine): QueueLedger {
  return {
    totals: () => totalsOf(engine),
    keyStatus: (key) => statusOfKey(engine, key),
    listKeys: (page) => listKeys(engine, page),
    digestEndingAt: (key, after) =>
      withState(engine, key, 'arm', (state) => digestAt(engine, key, state, after)),
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

async function digestAt(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
  after: Position,
): Promise<string | undefined> {
  const parts = parsePosition(after);
  if (parts === undefined) return undefined;
  const isHere = state?.isOpen === true && parts.epoch === state.epoch && parts.offset <= state.end;
  const raw = isHere
    ? await stopOnDamage(engine, state, () => readEndingAt(engine, state, parts.offset))
    : undefined;
  return raw === undefined ? keptDigest(engine, key, state, after) : sha256Hex(raw);
}
