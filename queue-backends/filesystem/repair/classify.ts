import { isMillraceError } from '#base';
import type { KeyGuard, KeyVerdict, Verdict, VerdictReason } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { type KeyState, pendingRecords } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { countLetters } from './count-letters.ts';
import { asRetry } from '../with-state.ts';
import { planReset, mayResetAlone } from './set-back.ts';

/** What a folder and the memory of a key say; all that decides its verdict. */
export interface ClassifyFacts {
  /** The key has an epoch: a log, or frames of one. */
  readonly isKnown: boolean;
  readonly hasRecord: boolean;
  readonly hasLog: boolean;
  readonly hasGeneration: boolean;
  readonly isFinalizing: boolean;
  /** Code and words of what stopped it; undefined when it is well. */
  readonly fault: { readonly code: string; readonly message: string } | undefined;
  /** Its log could be drained again from the beginning by itself. */
  readonly mayReset: boolean;
  readonly pending: number;
  /** Dead records behind the committed position. */
  readonly deadAhead: number;
}

const faultReasons: Readonly<Record<string, VerdictReason>> = {
  OFFSET_CORRUPT: 'offset_damaged',
  OFFSET_UNSUPPORTED: 'offset_newer',
  OFFSET_BEYOND_LOG: 'offset_out_of_range',
  OFFSET_MISALIGNED: 'offset_out_of_range',
  CURSOR_CORRUPT: 'cursor_damaged',
  CURSOR_TOO_LARGE: 'cursor_damaged',
  LOG_GENERATION_MISSING: 'generation_damaged',
  RECORD_CORRUPT: 'log_damaged',
  FOREIGN_RECORD: 'record_foreign',
};

type Judged = {
  readonly verdict: Verdict;
  readonly reason: VerdictReason;
  readonly message: string;
};

/** One verdict for one key, with a reason for programs and one for people (ING-822). Pure. */
export function verdictOf(facts: ClassifyFacts): Judged {
  const { fault, pending, deadAhead } = facts;
  const judged = (verdict: Verdict, reason: VerdictReason, message: string): Judged => ({
    verdict,
    reason,
    message,
  });
  if (facts.isFinalizing)
    return judged(
      'finish_finalize',
      'finalizing',
      'its epoch was being ended: that is completed first',
    );
  if (fault !== undefined) {
    const reason = faultReasons[fault.code] ?? 'other_damage';
    return facts.mayReset
      ? judged(
          'reset',
          reason,
          `its position is damaged, its log is drained again: ${fault.message}`,
        )
      : judged('quarantine', reason, fault.message);
  }
  if (!facts.isKnown) return leftOver(facts, judged);
  if (deadAhead > 0)
    return judged(
      'resumable',
      'dead_ahead',
      `${deadAhead} of its records are dead letters already and are passed first`,
    );
  if (pending > 0) return judged('resumable', 'pending_records', `${pending} records wait`);
  return judged('drained', 'fully_drained', 'nothing of it waits');
}

function leftOver(
  { hasRecord, hasLog, hasGeneration }: ClassifyFacts,
  judged: (verdict: Verdict, reason: VerdictReason, message: string) => Judged,
): Judged {
  if (hasRecord && !hasLog)
    return judged(
      'orphan_record',
      'log_missing',
      'an offset record without a log: the session was ended',
    );
  if (hasGeneration)
    return judged(
      'orphan_generation',
      'generation_alone',
      'a generation file alone: the log never came to be',
    );
  return judged('ok', 'no_files', 'nothing of it is on disk');
}

/** Judges a key now, under its lock; what its load finds damaged is in quarantine by then. */
export function classify(engine: Engine, key: Key): Promise<KeyVerdict> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => classifyUnder(engine, guard)),
    undefined,
    'classify',
  );
}

async function classifyUnder(engine: Engine, guard: KeyGuard): Promise<KeyVerdict> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  await countLetters(engine, guard);
  const pending = state === undefined ? 0 : pendingRecords(state);
  return { key, pending, ...verdictOf(await factsOf(engine, key, state, pending)) };
}

async function factsOf(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
  pending: number,
): Promise<ClassifyFacts> {
  const names = await namesIn(engine, key);
  const fault = state?.quarantine ?? undefined;
  return {
    isKnown: state?.isOpen === true,
    hasRecord: names.some((name) => name.startsWith('offset') && name.endsWith('.json')),
    hasLog: names.some((name) => /^log\.\d+\.jsonl$/.test(name)),
    hasGeneration: names.some((name) => /^generation\.\d+\.json$/.test(name)),
    isFinalizing: await isFinalizing(engine, key),
    fault,
    mayReset:
      state !== undefined && fault !== undefined && (await mayReset(engine, state, fault.code)),
    pending,
    deadAhead: state?.deadAhead.size ?? 0,
  };
}

async function namesIn(engine: Engine, key: Key): Promise<readonly string[]> {
  const entries = await engine.options.disk.readDirectory(engine.files.folderOf(key));
  return entries.map(({ name }) => name);
}

async function isFinalizing(engine: Engine, key: Key): Promise<boolean> {
  try {
    const record = await engine.records.read(key, engine.files.folderOf(key));
    return record?.state === 'finalizing';
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt') return false;
    throw error;
  }
}

async function mayReset(engine: Engine, state: KeyState, code: string): Promise<boolean> {
  if (!mayResetAlone(engine, state, code)) return false;
  return !('refusal' in (await planReset(engine, state)));
}
