import { planBatch, type BatchPlan, type Fold, type PlanInput } from './plan-batch.ts';
import type { PackedPlan } from './packed-plan.ts';

/** Who folds: the same records and cursor give the same plan, wherever it is made (P12). */
export interface Folder {
  plan(input: FoldInput): BatchPlan | Promise<BatchPlan | PackedPlan>;
  close(): Promise<void>;
}

export type FoldInput = Omit<PlanInput, 'fold'>;

/** Folds in the caller's own step. */
export function inlineFolder(fold: Fold): Folder {
  return {
    plan: (input) => planBatch({ ...input, fold }),
    close: () => Promise.resolve(),
  };
}
