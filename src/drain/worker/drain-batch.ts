import { assert } from '#base';
import type { Batch, BatchItem } from '#queue';
import type { Position } from '#record';
import { bury, commitApplied, deliver, deliverPacked } from './deliver.ts';
import type { Engine } from '../engine.ts';
import { commitSteps, isolate } from './isolate.ts';
import type { FoldInput } from '../fold/folder.ts';
import { isPacked, type PackedPlan } from '../fold/packed-plan.ts';
import { planBatch, type BatchPlan } from '../fold/plan-batch.ts';
import { planChunks } from '../fold/plan-chunks.ts';
import type { Worker } from './worker.ts';

/** How far a plan was carried out. */
export type Carried =
  | { readonly kind: 'done' }
  /** A record died: what lies behind it is folded anew from the cursor before it. */
  | { readonly kind: 'behind'; readonly after: Position }
  | { readonly kind: 'stopped' };

/** Folds, applies and commits a batch. Rejects with what must stop or rebuild the worker; all that was committed by then stays. */
export async function drainBatch(
  engine: Engine,
  worker: Worker,
  batch: Batch,
): Promise<'done' | 'stopped'> {
  let items: readonly BatchItem[] = batch.items;
  while (items.length > 0) {
    if (engine.isStopping()) return 'stopped';
    assert(worker.baseline !== undefined, `the worker of ${worker.key} drains only when armed`);
    const carried = await foldAndCarryOut(engine, worker, {
      key: worker.key,
      ...worker.baseline,
      items,
      spillBytes: engine.graph.spillBytes,
    });
    if (carried.kind === 'stopped') return 'stopped';
    if (carried.kind === 'done') return 'done';
    const { after } = carried;
    items = items.filter((item) => item.at >= after);
  }
  return 'done';
}

async function foldAndCarryOut(engine: Engine, worker: Worker, input: FoldInput): Promise<Carried> {
  const plan = await engine.folder.plan(input);
  return engine.gate.pass(async () => {
    if (engine.isStopping()) return { kind: 'stopped' };
    return isPacked(plan)
      ? carryOutPacked(engine, worker, plan, input)
      : carryOut(engine, worker, plan);
  });
}

async function carryOutPacked(
  engine: Engine,
  worker: Worker,
  plan: PackedPlan,
  input: FoldInput,
): Promise<Carried> {
  const outcome = await deliverPacked(engine, worker, plan);
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  if (outcome.kind === 'failed') throw outcome.error;
  if (outcome.kind === 'applied') {
    await commitApplied(engine, worker, plan, plan.last, plan.records);
    return { kind: 'done' };
  }
  // The store holds nothing of it: folded again, its steps are at hand to be cut (ING-537).
  const whole = planBatch({ ...input, fold: engine.fold });
  return isolate(engine, worker, whole, whole.steps, outcome.error);
}

async function carryOut(engine: Engine, worker: Worker, plan: BatchPlan): Promise<Carried> {
  const { resent, steps, end } = plan;
  if (resent !== undefined && steps.length === 0)
    await commitApplied(engine, worker, plan, resent, resent.count);
  const { groupRecordsMax: records, groupBytesMax: bytes } = engine.settings;
  for (const chunk of planChunks(steps, { records, bytes })) {
    const outcome = await deliver(engine, worker, plan, chunk, false);
    if (outcome.kind === 'stopped') return { kind: 'stopped' };
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'applied') await commitSteps(engine, worker, plan, chunk);
    else {
      const carried = await isolate(engine, worker, plan, chunk, outcome.error);
      if (carried.kind !== 'done') return carried;
    }
  }
  if (end === undefined) return { kind: 'done' };
  if (end.kind === 'corrupt') throw end.error;
  if (engine.isStopping()) return { kind: 'stopped' };
  // A fold is pure: the same record from the same cursor fails again, so it gets no second try.
  await bury(engine, worker, { ...end, attempts: 1 });
  return { kind: 'behind', after: end.item.after };
}
