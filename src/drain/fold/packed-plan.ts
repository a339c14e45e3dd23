import { packSteps } from '#graph';
import type { SpilledValue } from '#handlers';
import type { Cursor, Position } from '#record';
import type { BatchPlan } from './plan-batch.ts';
import type { ChunkLimit } from './plan-chunks.ts';

/**
 * A plan whose steps are text for the store already: of a batch that folds whole, all of it new to the graph, and small enough for one
 * transaction. Everything else is worth a plan with its steps at hand.
 */
export interface PackedPlan {
  readonly workspace: string;
  readonly session: string;
  readonly acceptedAt: string | undefined;
  readonly packed: Uint8Array;
  readonly records: number;
  readonly mutations: number;
  /** Estimate of what the store has to write. */
  readonly bytes: number;
  readonly last: { readonly after: Position; readonly sha256: string; readonly cursor: Cursor };
  readonly values: readonly SpilledValue[];
}

/** Undefined where the plan has to be carried out step by step. */
export function packPlan(plan: BatchPlan, max: ChunkLimit): PackedPlan | undefined {
  const { workspace, session, acceptedAt, steps } = plan;
  const last = steps.at(-1);
  if (last === undefined || plan.resent !== undefined || plan.end !== undefined) return undefined;
  const bytes = steps.reduce((sum, step) => sum + step.bytes, 0);
  if (steps.length > max.records || bytes > max.bytes) return undefined;
  const values = new Map(steps.flatMap((step) => step.values.map((one) => [one.sha256, one])));
  return {
    workspace,
    session,
    acceptedAt,
    packed: packSteps(steps),
    records: steps.length,
    mutations: steps.reduce((sum, step) => sum + step.mutations.length, 0),
    bytes,
    last: { after: last.after, sha256: last.sha256, cursor: last.cursor },
    values: [...values.values()],
  };
}

export function isPacked(plan: BatchPlan | PackedPlan): plan is PackedPlan {
  return 'packed' in plan;
}
