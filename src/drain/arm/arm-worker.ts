import type { AppliedRow } from '#graph';
import { cursorCorrupt, type AppliedMark } from '#queue';
import { emptyCursor, parseCursor, type Cursor, type Key, type Position } from '#record';
import { compareRow, proveRow, type ProvenVerdict } from './compare-row.ts';
import type { Engine } from '../engine.ts';
import type { Baseline } from '../worker/worker.ts';

export type Armed =
  | { readonly kind: 'armed'; readonly baseline: Baseline }
  | { readonly kind: 'quarantined' }
  | { readonly kind: 'mismatched'; readonly reason: string };

/**
 * Raises the key's guard, compares the graph's row with the log (ING-541), and restores the cursor from the stored record, whole or not at
 * all (ING-501, ING-502). Rejects with CURSOR_CORRUPT, or whatever queue and graph reject with.
 */
export async function armWorker(engine: Engine, key: Key): Promise<Armed> {
  const row = await engine.armer.arm(key);
  const status = await engine.ledger.keyStatus(key);
  if (status === undefined) {
    const baseline = { cursor: emptyCursor(), position: '' as Position, appliedThrough: null };
    return row === null
      ? { kind: 'armed', baseline }
      : { kind: 'mismatched', reason: 'the graph has a row for it, the queue does not know it' };
  }
  if (status.quarantine !== null) return { kind: 'quarantined' };
  const { appliedMark: mark, end } = status;
  const proven = await judgeRow(engine, key, row, { mark, end });
  if (proven.kind === 'mismatch') return { kind: 'mismatched', reason: proven.reason };
  const { accepted, pending, committed: position } = status;
  const cursor = await readCursor(engine, key, accepted > pending);
  return { kind: 'armed', baseline: { cursor, position, appliedThrough: proven.appliedThrough } };
}

/** The verdict on a row, with a look into the log where that is needed (ING-541). */
export async function judgeRow(
  engine: Pick<Engine, 'ledger' | 'rootId'>,
  key: Key,
  row: AppliedRow | null,
  log: { readonly mark: AppliedMark | null; readonly end: Position },
): Promise<ProvenVerdict> {
  const verdict = compareRow(row, { rootId: engine.rootId, ...log });
  if (verdict.kind !== 'prove') return verdict;
  return proveRow(verdict, await engine.ledger.digestEndingAt(key, verdict.at));
}

/** A missing cursor is empty only before the first commit; after it, counters would start again and repeat ids. */
async function readCursor(engine: Engine, key: Key, hasCommits: boolean): Promise<Cursor> {
  const stored = await engine.queue.readCursor(key);
  if (stored === null) {
    if (hasCommits)
      throw cursorCorrupt({ key, reason: 'it is missing beside a committed position' });
    return emptyCursor();
  }
  const parsed = parseCursor(stored);
  if (parsed.cursor === undefined) throw cursorCorrupt({ key, reason: parsed.fault });
  return parsed.cursor;
}
