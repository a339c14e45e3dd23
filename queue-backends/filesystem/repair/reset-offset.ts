import {
  type AppliedMark,
  type KeyGuard,
  type ResetOrder,
  type ResetReport,
  resetRefused,
  sessionQuarantined,
} from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { type KeyState, pendingRecords, positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { asRetry } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { planReset, setBack } from './set-back.ts';
import { settleInFlight } from './set-position.ts';

/**
 * W8 for an operator (`queue replay`): the key is drained again from where its log begins, with the cursor of that place (ING-219). What commits relied on
 * the graph to hold is forgotten too, so that the caller may tell all of it to the graph again.
 */
export function resetOffset(engine: Engine, key: Key, order: ResetOrder): Promise<ResetReport> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => resetUnder(engine, guard, order)),
    undefined,
    'reset',
  );
}

/** What the graph holds of what the log has lost; null where it has lost nothing that was applied. The first versions did not say where that was. */
function appliedBefore({ before, applied }: KeyState): AppliedMark | null {
  if (before === null) return null;
  return before.position === null ? applied : { position: before.position, sha256: before.sha256 };
}

async function resetUnder(
  engine: Engine,
  guard: KeyGuard,
  order: ResetOrder,
): Promise<ResetReport> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  if (state === undefined) throw resetRefused({ key, reason: 'it has no log' });
  assertWriter(engine);
  if (state.quarantine !== null)
    throw sessionQuarantined({ keys: [key], reason: state.quarantine.code });
  await settleInFlight(engine, state);
  await engine.filler.fillNow(state, guard);
  const before = positionOf(state, state.committed);
  const plan = await planReset(engine, state);
  if ('refusal' in plan) throw resetRefused({ key, reason: plan.refusal });
  const { cursor } = plan;
  const applied = appliedBefore(state);
  if (state.committed !== state.base)
    await setBack(engine, state, { cursor, applied }, order, 'replay');
  return {
    key,
    operationId: order.operationId,
    committed: positionOf(state, state.committed),
    before,
    applied,
    pending: pendingRecords(state),
  };
}
