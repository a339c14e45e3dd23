import { backoffMs, type MillraceError } from '#base';
import { bury, commitApplied, deliver } from './deliver.ts';
import type { Carried } from './drain-batch.ts';
import type { Engine } from '../engine.ts';
import type { GroupOutcome } from '../group-applier.ts';
import type { BatchPlan, PlannedStep } from '../fold/plan-batch.ts';
import { planHalves } from '../fold/plan-chunks.ts';
import type { Worker } from './worker.ts';

/**
 * Finds the record that the store refuses, in log order: halves that apply are committed, halves that fail are cut again (ING-537). The
 * record dies after its budget; what was folded behind it has seen it, and is thrown away (ING-538).
 */
export async function isolate(
  engine: Engine,
  worker: Worker,
  plan: BatchPlan,
  refused: readonly PlannedStep[],
  error: MillraceError,
): Promise<Carried> {
  const parts: (readonly PlannedStep[])[] =
    refused.length > 1 ? [...planHalves(refused)] : [refused];
  let isKnownRefused = refused.length === 1;
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const [only] = part;
    const outcome: GroupOutcome = isKnownRefused
      ? { kind: 'refused', error }
      : await deliver(engine, worker, plan, part, true);
    isKnownRefused = false;
    if (outcome.kind === 'stopped') return { kind: 'stopped' };
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'applied') await commitSteps(engine, worker, plan, part);
    else if (part.length > 1) parts.unshift(...planHalves(part));
    else if (only !== undefined) {
      const attempts = refused.length > 1 ? 2 : 1;
      const end = await deliverAlone(engine, worker, plan, only, attempts, outcome.error);
      if (end !== 'applied') return end;
    }
  }
  return { kind: 'done' };
}

export async function commitSteps(
  engine: Engine,
  worker: Worker,
  plan: BatchPlan,
  steps: readonly PlannedStep[],
): Promise<void> {
  const last = steps.at(-1);
  if (last !== undefined) await commitApplied(engine, worker, plan, last, steps.length);
}

/** The rest of a lone record's budget, each time from the same cursor. Only a refusal uses an attempt: an outage waits in the applier. */
async function deliverAlone(
  engine: Engine,
  worker: Worker,
  plan: BatchPlan,
  step: PlannedStep,
  attemptsSoFar: number,
  firstError: MillraceError,
): Promise<Carried | 'applied'> {
  const { settings, chance, pauses } = engine;
  let error = firstError;
  let attempts = attemptsSoFar;
  for (; attempts < settings.deliveryAttemptsMax; attempts += 1) {
    worker.noteFailure(error);
    worker.moveTo('backing-off', error.code);
    await pauses.pause(backoffMs(settings.backoff, attempts, chance));
    worker.moveTo('applying', 'a refused record is tried again');
    if (engine.isStopping()) return { kind: 'stopped' };
    const outcome = await deliver(engine, worker, plan, [step], true);
    if (outcome.kind === 'stopped') return { kind: 'stopped' };
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'applied') {
      await commitSteps(engine, worker, plan, [step]);
      return 'applied';
    }
    error = outcome.error;
  }
  if (engine.isStopping()) return { kind: 'stopped' };
  const { item, before } = step;
  await bury(engine, worker, { item, before, attempts, error, isDefect: false });
  return { kind: 'behind', after: step.after };
}
