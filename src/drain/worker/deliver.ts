import { assert, messageOf, type MillraceError } from '#base';
import type { SpilledValue } from '#handlers';
import type { AppliedMark } from '#queue';
import type { Cursor, Position } from '#record';
import { batchCommitted, daemonNoticed, recordDead } from '#signals';
import type { Engine } from '../engine.ts';
import type { GroupOutcome, Offer } from '../group-applier.ts';
import type { PackedPlan } from '../fold/packed-plan.ts';
import type { BatchPlan, PlannedStep } from '../fold/plan-batch.ts';
import type { Worker } from './worker.ts';

/** The steps' values as durable objects first, then the steps themselves (D30); resolves when the store has settled them. */
export async function deliver(
  engine: Engine,
  worker: Worker,
  plan: BatchPlan,
  steps: readonly PlannedStep[],
  isAlone: boolean,
): Promise<GroupOutcome> {
  const { workspace, session } = plan;
  const part = {
    key: worker.key,
    workspace,
    session,
    steps: steps.map(({ at, after, sha256, mutations, cursor }) => ({
      at,
      after,
      sha256,
      mutations,
      cursor,
    })),
  };
  const values = new Map(
    steps.flatMap((step) => step.values.map((value) => [value.sha256, value])),
  );
  return offer(engine, worker, [...values.values()], {
    part,
    records: steps.length,
    mutations: steps.reduce((sum, { mutations }) => sum + mutations.length, 0),
    bytes: steps.reduce((sum, { bytes }) => sum + bytes, 0),
    isAlone,
  });
}

/** The same for a batch that was packed where it was folded. */
export function deliverPacked(
  engine: Engine,
  worker: Worker,
  plan: PackedPlan,
): Promise<GroupOutcome> {
  const { workspace, session, packed, records, mutations, bytes, values } = plan;
  const part = { key: worker.key, workspace, session, packed };
  return offer(engine, worker, values, { part, records, mutations, bytes, isAlone: false });
}

async function offer(
  engine: Engine,
  worker: Worker,
  values: readonly SpilledValue[],
  offered: Omit<Offer, 'onWait'>,
): Promise<GroupOutcome> {
  if (values.length > 0)
    await Promise.all(
      values.map(({ sha256, bytes, mediaType }) =>
        engine.putLimit(() => engine.objects.put(sha256, bytes, mediaType)),
      ),
    );
  if (engine.isStopping()) return { kind: 'stopped' };
  return engine.applier.offer({
    ...offered,
    onWait(wait) {
      if (wait === undefined) return worker.moveTo('applying', 'the store is tried again');
      worker.noteFailure(wait.error);
      worker.moveTo('backing-off', wait.error.code);
    },
  });
}

/** Offset and cursor behind what the graph holds now, in one frame (ING-415). */
export async function commitApplied(
  engine: Engine,
  worker: Worker,
  plan: Pick<BatchPlan, 'acceptedAt'>,
  last: { readonly after: Position; readonly sha256: string; readonly cursor: Cursor },
  records: number,
): Promise<void> {
  const { key } = worker;
  const { after, sha256, cursor } = last;
  const applied: AppliedMark = { position: after, sha256 };
  const startedMs = engine.clock.monotonic();
  await engine.queue.commit(key, after, cursor, applied);
  settle(engine, worker, after, cursor);
  const lagMs = lagSince(plan.acceptedAt, engine.clock.now());
  engine.pace.committed(lagMs);
  batchCommitted.publish(() => ({
    key,
    records,
    position: after,
    durationMs: engine.clock.monotonic() - startedMs,
    lagMs,
  }));
}

/** A line may say anything of its time: one that is no time is no lag, or the pace of all sessions would be lost with it (P7). */
function lagSince(acceptedAt: string | undefined, nowMs: number): number {
  const lagMs = nowMs - Date.parse(acceptedAt ?? '');
  return Number.isFinite(lagMs) ? Math.max(0, lagMs) : 0;
}

export interface DeadRecord {
  readonly item: { readonly raw: Uint8Array; readonly at: Position; readonly after: Position };
  /** Cursor from before the record: the record leaves no trace in what comes behind it (ING-510). */
  readonly before: Cursor;
  readonly attempts: number;
  readonly error: MillraceError;
  readonly isDefect: boolean;
}

/** Dead letter, position behind it, and the cursor from before it, in one frame; only then may later records be applied (ING-535). */
export async function bury(engine: Engine, worker: Worker, dead: DeadRecord): Promise<void> {
  const { key } = worker;
  const { item, before, attempts, error } = dead;
  const { code, message } = error;
  const letter = { at: item.at, raw: item.raw, attempts, error: { code, message } };
  await engine.queue.deadLetter(key, [letter], item.after, before);
  settle(engine, worker, item.after, before);
  recordDead.publish(() => ({ key, position: item.at, code, message }));
  if (dead.isDefect)
    daemonNoticed.publish(() => ({ code, message: `${message}; ${messageOf(error.cause)}` }));
}

function settle(engine: Engine, worker: Worker, after: Position, cursor: Cursor): void {
  assert(worker.baseline !== undefined, `the worker of ${worker.key} commits only when armed`);
  worker.baseline = { ...worker.baseline, cursor, position: after };
  worker.noteSuccess();
  engine.troubles.clear(worker.cause);
  engine.committed(worker.key, after);
}
