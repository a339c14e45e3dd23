import type { KeyStatus, QueueLedger } from '#queue';
import { encodeKey, type Key, keyFilter } from '#record';
import type { KeyRow } from '#state';
import type { Engine } from './engine.ts';
import { appliedOf } from './session/key-row.ts';
import { type KeyState, backlogBytes, pendingRecords, positionOf } from './session/key-state.ts';
import { withState } from './with-state.ts';

type Page = Parameters<QueueLedger['listKeys']>[0];

/** Of a key with an open epoch from its state, of one whose epoch is over from its row; undefined for one that was never seen. */
export function statusOfKey(engine: Engine, key: Key): Promise<KeyStatus | undefined> {
  return withState(engine, key, 'status', async (state) => statusIn(engine, key, state));
}

function statusIn(engine: Engine, key: Key, state: KeyState | undefined): KeyStatus | undefined {
  if (state?.isOpen === true) return statusOf(state);
  const row = engine.options.state.getRow(key);
  return row === undefined ? undefined : statusOfRow(key, row, state?.pendingDuplicates ?? 0);
}

function statusOf(state: KeyState): KeyStatus {
  return {
    key: state.key,
    workspace: state.workspace,
    session: state.session,
    epoch: state.epoch,
    ordinal: state.ordinal,
    isFinalised: false,
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

function statusOfRow(key: Key, row: KeyRow, waitingDuplicates: number): KeyStatus {
  const { workspace, session, epoch, ordinal, owner, position, totals } = row;
  return {
    key,
    workspace,
    session,
    epoch,
    ordinal,
    isFinalised: true,
    owner,
    committed: position,
    end: position,
    pending: 0,
    backlogBytes: 0,
    quarantine: null,
    appliedMark: appliedOf(row),
    ...totals,
    duplicates: totals.duplicates + waitingDuplicates,
  };
}

/** Digest of the record that ends at a position, as far as it outlived the record itself: what the generation file or the key's row keeps of it (ING-541). */
export function keptDigest(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
  after: string,
): string | undefined {
  const row = engine.options.state.getRow(key);
  const kept = [state?.applied, state?.before, row === undefined ? null : appliedOf(row)];
  return kept.find((mark) => mark?.position === after)?.sha256;
}

/** Keys in key order (ING-013); those of which nothing is open are found by their rows. */
export async function listKeys(engine: Engine, page: Page): Promise<readonly KeyStatus[]> {
  const found: KeyStatus[] = [];
  const mayMatch = keyFilter(page);
  for (const key of await candidates(engine, page)) {
    if (page.afterKey !== undefined && key <= page.afterKey) continue;
    if (!mayMatch(key)) continue;
    if (found.length >= page.limit) break;
    if (isOfOtherSession(engine, key, page)) continue;
    const status = await statusOfKey(engine, key);
    if (status === undefined) continue;
    if (page.state === 'dead' && status.dead === 0) {
      engine.deadKeys.note(key, 0);
      continue;
    }
    if (page.session !== undefined && status.session !== page.session) continue;
    if (page.workspace !== undefined && status.workspace !== page.workspace) continue;
    found.push(status);
  }
  return found;
}

/** A hashed key does not tell its session; where its row does, nothing of it need be read. */
function isOfOtherSession(engine: Engine, key: Key, { session, workspace }: Page): boolean {
  if (session === undefined && workspace === undefined) return false;
  const row = engine.options.state.getRow(key);
  if (row === undefined) return false;
  return (
    (session !== undefined && row.session !== session) ||
    (workspace !== undefined && row.workspace !== workspace)
  );
}

async function candidates(
  engine: Engine,
  { state, session, workspace }: Page,
): Promise<readonly Key[]> {
  if (state === 'active') return [...engine.active].toSorted();
  if (state === 'quarantined') return [...engine.quarantined].toSorted();
  if (state === 'dead' && engine.totals.dead === 0) return [];
  // Both ids name the key itself.
  if (session !== undefined && workspace !== undefined)
    return [
      ...new Set((['plain', 'hashed'] as const).map((form) => encodeKey(workspace, session, form))),
    ].toSorted();
  if (state === 'dead') return engine.deadKeys.sorted(engine);
  return state === 'lettered' ? engine.letteredKeys.sorted(engine) : engine.names.sorted(engine);
}
