import {
  type KeyGuard,
  type ResetOrder,
  type ResetReport,
  resetRefused,
  sessionQuarantined,
} from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { pendingRecords, positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { asRetry } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { planReset, setBack } from './set-back.ts';
import { settleInFlight } from './set-position.ts';

/** W8 for an operator (`queue replay`): the key is drained again from where its log begins, with the cursor of that place (ING-219). */
export function resetOffset(engine: Engine, key: Key, order: ResetOrder): Promise<ResetReport> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => resetUnder(engine, guard, order)),
    undefined,
    'reset',
  );
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
  if (state.committed !== state.base) await setBack(engine, state, plan.cursor, order, 'replay');
  return {
    key,
    operationId: order.operationId,
    committed: positionOf(state, state.committed),
    before,
    pending: pendingRecords(state),
  };
}
