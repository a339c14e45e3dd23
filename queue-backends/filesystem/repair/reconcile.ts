import { createPace, isMillraceError } from '#base';
import { failpoint, platformCode } from '#disk';
import type { KeyGuard, ReconcileReport } from '#queue';
import { emptyCursor, type Key } from '#record';
import { deadPassed } from '#signals';
import { type Engine, noteBacklog } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type CommitPayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { eachKeyOnDisk } from '../all-keys.ts';
import { countLetters } from './count-letters.ts';
import { hasDeadFile } from '../session/dead-file.ts';
import { type KeyState, dirty, passDead, positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { trimTail } from '../session/tail.ts';
import { asRetry } from '../with-state.ts';
import { assertWriter } from '../writer.ts';

/** The maximal leading run of dead records: where it ends and how many records it holds (ING-709, ING-P06). Pure. */
export function leadingDead(state: Pick<KeyState, 'committed' | 'deadAhead'>): {
  readonly to: number;
  readonly records: number;
} {
  let to = state.committed;
  let records = 0;
  for (let next = state.deadAhead.get(to); next !== undefined; next = state.deadAhead.get(to)) {
    to = next.end;
    records += next.records;
  }
  return { to, records };
}

/**
 * Passes the leading dead records of a key (W6): one COMMIT that moves the position and keeps the cursor, read and written inside one hold of the
 * key's lock (ING-707). The books counted these records as dead already. Returns how many; the mark goes when the frame is durable, and stays
 * when it fails (ING-704).
 */
export async function passLeadingDead(engine: Engine, state: KeyState): Promise<number> {
  if (state.deadAhead.size === 0) return 0;
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  const { to, records } = leadingDead(state);
  if (to === state.committed) return 0;
  assertWriter(engine);
  const payload: CommitPayload = {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    after: to,
    n: records,
    seq: state.seq + 1,
    cursor: state.cursor ?? emptyCursor(),
    applied: state.applied,
    delta: { applied: 0, dead: 0, discarded: 0, dup: 0 },
  };
  await failpoint('reconcile:before-commit');
  const from = positionOf(state, state.committed);
  await submitFrame(engine, frameKinds.commit, encodeJson(payload), () =>
    pass(engine, state, payload),
  );
  const { key } = state;
  deadPassed.publish(() => ({ key, records, from, to: positionOf(state, to) }));
  return records;
}

function pass(engine: Engine, state: KeyState, payload: CommitPayload): void {
  const before = state.end - state.committed;
  state.committed = payload.after;
  state.committedRecords += payload.n;
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.cursorText = JSON.stringify(payload.cursor);
  state.boundaries = [];
  passDead(state);
  dirty(state);
  if (state.committed === state.end) state.oldestMs = null;
  noteBacklog(engine, state, before);
  trimTail(state);
}

/** One key, under its guard; a key in quarantine is left as it is. */
export function reconcileDead(engine: Engine, key: Key): Promise<number> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => reconcileUnder(engine, guard)),
    undefined,
    'reconcile',
  );
}

async function reconcileUnder(engine: Engine, guard: KeyGuard): Promise<number> {
  const state = await loadState(engine, guard);
  await countLetters(engine, guard);
  if (state === undefined || state.quarantine !== null) return 0;
  return passLeadingDead(engine, state);
}

function mayPass(error: unknown): boolean {
  return (
    isMillraceError(error) && (error.disposition === 'retry' || error.disposition === 'corrupt')
  );
}

/** The first keys are looked at within a second or two; of a root with very many the rest is left a few thousandths of a core (ING-808). */
const pace = { share: 0.003, quickSteps: 1024, restMsMin: 20, stepsAtOnce: 64 } as const;

/**
 * All keys that have dead letters, or whose files do not look as a well key's do, one guard at a time (ING-314, ING-705): safe beside live
 * drainers, and it hurries nobody. So damage in a key that nobody uses is told after a start, too.
 */
export async function reconcileAllDead(
  engine: Engine,
  signal: AbortSignal,
): Promise<ReconcileReport> {
  const { step } = createPace({ ...pace, clock: engine.options.clock });
  let keys = 0;
  let skipped = 0;
  const failed: Key[] = [];
  for await (const key of eachKeyOnDisk(engine)) {
    await step(signal);
    try {
      if (!(await isWorthALook(engine, key))) continue;
      keys += 1;
      skipped += await reconcileDead(engine, key);
    } catch (error) {
      // One bad key stops no other (ING-408): its reader meets the same and tells it.
      if (!mayPass(error) && platformCode(error) === undefined) throw error;
      failed.push(key);
    }
  }
  return { keys, skipped, failed };
}

/** Without a lock, and so only a hint: what matters is looked at again under it. */
async function isWorthALook(engine: Engine, key: Key): Promise<boolean> {
  if (await hasDeadFile(engine, key)) return true;
  const known = engine.table.get(key);
  if (known !== undefined) return known.totals.dead > 0;
  try {
    const record = await engine.records.read(key, engine.files.folderOf(key));
    if (record === undefined) return (engine.options.state.getRow(key)?.totals.dead ?? 0) > 0;
    if (record.totals.dead > 0) return true;
    const { size = 0 } =
      (await engine.options.disk.stat(engine.files.logPath(key, record.gen))) ?? {};
    return record.offset !== record.log_end || record.base + size !== record.log_end;
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt') return true;
    throw error;
  }
}
