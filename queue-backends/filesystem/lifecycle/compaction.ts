import { isMillraceError } from '#base';
import { failpoint } from '#disk';
import { type CompactionReport, type KeyGuard, compactionRefused, queueWriteFailed } from '#queue';
import type { Key } from '#record';
import { logCompacted } from '#signals';
import { writeKey } from '../checkpoint.ts';
import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type GenerationPayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import type { KeyState } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { asRetry, stopOnDamage } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { archiveLog } from './archive-log.ts';
import { keepDigests, keepDigestsAhead } from './keep-digests.ts';
import {
  type GenerationStart,
  isWhole,
  nextStart,
  prepareGeneration,
  removeOtherGenerations,
  startOf,
  takeGeneration,
} from './switch-generation.ts';

/**
 * Removes the committed prefix of a key's log (ING-810…816): a new generation with what is behind it, made durable, and one frame that
 * switches. The key is held from the check of the preconditions to the end, so a commit lands before or behind it, at the same record.
 */
export async function compact(
  engine: Engine,
  key: Key,
  minBytes: number,
): Promise<CompactionReport> {
  assertWriter(engine);
  const began = engine.options.clock.monotonic();
  await keepDigestsAhead(engine, key);
  const report = await engine.locks.with(
    key,
    (guard) => asRetry(key, () => compactUnderGuard(engine, guard, minBytes)),
    undefined,
    'compact',
  );
  const durationMs = engine.options.clock.monotonic() - began;
  logCompacted.publish(() => ({ key, bytes: report.removedBytes, durationMs }));
  return report;
}

async function compactUnderGuard(
  engine: Engine,
  guard: KeyGuard,
  minBytes: number,
): Promise<CompactionReport> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  if (state?.isOpen !== true) throw compactionRefused({ key, reason: 'it has no log' });
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  assertWriter(engine);
  const reason = refusalOf(engine, state, minBytes);
  if (reason !== undefined) throw compactionRefused({ key, reason });
  return stopOnDamage(engine, state, () => switchOver(engine, guard, state));
}

/** ING-813; undefined when nothing stands against it. */
function refusalOf(engine: Engine, state: KeyState, minBytes: number): string | undefined {
  if (state.quarantine !== null) return `it is in quarantine (${state.quarantine.code})`;
  if (state.isFinalising) return 'its epoch has ended, and its log is on its way out';
  if (state.isStuck || state.isLogSuspect || !state.hasSoundRecord)
    return 'its files could not be written by the last checkpoint';
  if (state.deadAhead.size > 0) return 'dead records behind its position are not passed yet';
  if (engine.journal.trouble !== undefined) return 'the journal cannot be written';
  const prefix = state.committed - state.base;
  if (prefix < minBytes || prefix === 0)
    return `${prefix} bytes are committed, ${Math.max(minBytes, 1)} are the least that is worth it`;
  return undefined;
}

async function switchOver(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
): Promise<CompactionReport> {
  await engine.filler.fillNow(state, guard);
  await keepDigests(engine, state, state.committed);
  await engine.options.state.flush();
  await archiveLog(engine, guard, state, state.committed);
  const old = startOf(state);
  const next = nextStart(state);
  const keptBytes = state.filledTo - next.base;
  try {
    await prepareGeneration(engine, state, next);
  } catch (error) {
    await giveUp(engine, state);
    throw error;
  }
  await submitGeneration(engine, state, next, false);
  await failpoint('compaction:switched');
  if (!(await isWhole(engine, state))) await undo(engine, guard, state, old);
  await writeKey(engine, guard, state);
  return { key: state.key, generation: next.gen, removedBytes: next.base - old.base, keptBytes };
}

/** The one commit point: until it is durable the old generation counts, from then on the new one. One that failed may still be found whole by recovery, which makes the files again. */
export async function submitGeneration(
  engine: Engine,
  state: KeyState,
  start: GenerationStart,
  isUndo: boolean,
): Promise<void> {
  const payload: GenerationPayload = {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    gen: start.gen,
    base: start.base,
    seq: state.seq + 1,
    ...(isUndo ? { undo: 1 } : {}),
  };
  await submitFrame(engine, frameKinds.generation, encodeJson(payload), () =>
    takeGeneration(state, start, payload),
  );
}

/** W5: the generation before is read again, with its position and cursor; the new one goes. */
async function undo(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  old: GenerationStart,
): Promise<never> {
  const failed = engine.files.logPath(state.key, state.gen);
  await submitGeneration(engine, state, old, true);
  await failpoint('compaction:undone');
  await writeKey(engine, guard, state);
  throw queueWriteFailed({
    reason: `${failed} reads otherwise than it was written; the generation before it is used on`,
    keys: [state.key],
  });
}

/** What was made of a switch that was never asked for goes at once, or at the next load if the disk refuses that too. */
async function giveUp(engine: Engine, state: KeyState): Promise<void> {
  try {
    await removeOtherGenerations(engine, state);
  } catch (error) {
    if (isMillraceError(error)) throw error;
    state.hasOtherGenerations = true;
  }
}
