import { backoffMs, isMillraceError, messageOf, type MillraceError } from '#base';
import { graphMismatch } from '#graph';
import { positionStale } from '#queue';
import { armWorker } from '../arm/arm-worker.ts';
import { afterFailure } from './after-failure.ts';
import { drainBatch } from './drain-batch.ts';
import type { Engine } from '../engine.ts';
import { drainFailed } from '../errors.ts';
import { readBatch } from './read-batch.ts';
import type { Worker } from './worker.ts';

/** Why a run of a worker ended. */
export type RunEnd =
  /** Nothing left to read. */
  | 'empty'
  /** Others wait, and it may have more. */
  | 'yielded'
  /** Quarantined or mismatched: somebody must act. */
  | 'halted'
  | 'stopped';

/** Drains one key until it is empty, gives way, halts or is stopped; every failure on the way is answered here and nowhere else. */
export async function runWorker(engine: Engine, worker: Worker): Promise<RunEnd> {
  for (;;) {
    if (engine.isStopping()) return stop(worker, 'the drain stops');
    try {
      const end = await drainOnce(engine, worker);
      if (end === 'stopped') return stop(worker, 'the drain stops');
      if (end !== 'more') return end;
    } catch (error) {
      const end = await answer(engine, worker, toMillraceError(worker, error));
      if (end !== undefined) return end;
    }
  }
}

async function drainOnce(engine: Engine, worker: Worker): Promise<RunEnd | 'more'> {
  if (worker.baseline === undefined) {
    worker.moveTo('arming', 'a cursor is needed');
    const armed = await armWorker(engine, worker.key);
    if (armed.kind === 'quarantined')
      return halt(worker, 'quarantined', 'its log is in quarantine');
    if (armed.kind === 'mismatched') return haltMismatched(engine, worker, armed.reason);
    worker.baseline = armed.baseline;
  }
  if (worker.state !== 'reading') worker.moveTo('reading', 'the next records are read');
  worker.isWoken = false;
  const { batch, release } = await readBatch(engine, worker);
  try {
    if (batch.items.length === 0) return await endOfLog(engine, worker);
    // Somebody else has moved the position: a reset, or dead records that were passed (ING-702). Its cursor has to be taken anew.
    if (batch.start !== worker.baseline.position)
      throw positionStale({ key: worker.key, position: worker.baseline.position });
    worker.moveTo('applying', `${batch.items.length} records`);
    if ((await drainBatch(engine, worker, batch)) === 'stopped') return 'stopped';
  } finally {
    release();
  }
  if (!engine.mustYield()) return 'more';
  worker.moveTo('reading', 'a batch is done');
  worker.moveTo('idle', 'others wait');
  return 'yielded';
}

/**
 * The read found nothing, and that is a leaving worker's re-check as well; what came since, the registry has noted (ING-806). Of a session whose
 * end was handled the epoch ends now, here as after a respawn (ING-801…807). Where an append came first (ING-803), its record may not be synced and
 * so not be readable yet: reading again at once would find nothing for ever, and let no sync end. Its wake comes when it is there.
 */
async function endOfLog(engine: Engine, worker: Worker): Promise<RunEnd> {
  worker.noteSuccess();
  engine.troubles.clear(worker.cause);
  if (worker.baseline?.cursor.terminal_seen === true) {
    const end = await engine.lifeCycle?.finalize(worker.key);
    if (end === 'refused') return halt(worker, 'quarantined', 'its log is in quarantine');
    if (end === 'done') {
      // A session that comes back has other positions: its worker is armed anew.
      worker.isLeaving = true;
      worker.baseline = undefined;
    }
  }
  worker.moveTo('idle', 'nothing is left');
  return 'empty';
}

function toMillraceError(worker: Worker, error: unknown): MillraceError {
  if (isMillraceError(error)) return error;
  return drainFailed({ key: worker.key, reason: messageOf(error) }, error);
}

/** By disposition (ING-536); undefined means that the worker is rebuilt and goes on. */
async function answer(
  engine: Engine,
  worker: Worker,
  error: MillraceError,
): Promise<RunEnd | undefined> {
  if (engine.isStopping()) return stop(worker, 'the drain stops');
  const next = afterFailure(error.disposition);
  if (next === 'stop-all') {
    engine.stopAll(error);
    return stop(worker, error.code);
  }
  // The graph is wrong, not the key's log: it only stops (ING-536).
  if (next === 'stop-key' && graphMismatch.is(error))
    return haltMismatched(engine, worker, error.message);
  const fault = await quarantineOf(engine, worker, next === 'stop-key' ? error : undefined);
  if (fault === 'quarantined') return halt(worker, 'quarantined', error.code);
  return rebuild(engine, worker, fault ?? error);
}

/** Whether the key is in quarantine, once `fault` has put it there; the failure of asking, where that failed too. */
async function quarantineOf(
  engine: Engine,
  worker: Worker,
  fault: MillraceError | undefined,
): Promise<'quarantined' | MillraceError | undefined> {
  const { key } = worker;
  try {
    if (fault !== undefined) await engine.ledger.quarantine(key, fault);
    const status = await engine.ledger.keyStatus(key);
    return status === undefined || status.quarantine === null ? undefined : 'quarantined';
  } catch (error) {
    return toMillraceError(worker, error);
  }
}

/** Waits, then begins again from the stored record: nothing of the failed attempt is kept (ING-413, ING-506). There is no give-up. */
async function rebuild(
  engine: Engine,
  worker: Worker,
  error: MillraceError,
): Promise<RunEnd | undefined> {
  const { settings, chance, pauses, troubles } = engine;
  worker.noteFailure(error);
  if (worker.attempts >= settings.degradedAfter)
    troubles.raise(worker.cause, { code: error.code, message: `${worker.key}: ${error.message}` });
  worker.moveTo('backing-off', error.code);
  worker.baseline = undefined;
  await engine.paused(() => pauses.pause(backoffMs(settings.backoff, worker.attempts, chance)));
  return engine.isStopping() ? stop(worker, 'the drain stops') : undefined;
}

function haltMismatched(engine: Engine, worker: Worker, reason: string): RunEnd {
  // The fault of a whole graph says itself what to do.
  const advice = reason.includes('graph adopt')
    ? ''
    : '; start with the graph that belongs to this root, or see "millrace graph adopt"';
  engine.troubles.raise(worker.cause, {
    code: graphMismatch.code,
    message: `${worker.key} is not drained: ${reason}${advice}`,
  });
  return halt(worker, 'mismatched', reason);
}

function halt(worker: Worker, state: 'quarantined' | 'mismatched', reason: string): RunEnd {
  worker.baseline = undefined;
  worker.moveTo(state, reason);
  return 'halted';
}

function stop(worker: Worker, reason: string): RunEnd {
  worker.moveTo('stopped', reason);
  return 'stopped';
}
