import { assert, canonicalJson, parseJson, sha256Hex } from '#base';
import {
  commitConflict,
  cursorRequired,
  cursorTooLarge,
  deadLetterState,
  epochMismatch,
  positionRegression,
  sessionQuarantined,
  type AppliedMark,
  type DeadLetterInput,
  type DeadLetterRecord,
} from '#queue';
import { parsePosition, type Cursor, type Key, type Position } from '#record';
import { assertWriter, liveOf, type Engine } from './engine.ts';
import type { Flight } from './live-key.ts';
import { change } from './memory-store.ts';
import { stopKey } from './stop-key.ts';
import {
  committedOffset,
  letterIdAt,
  positionAt,
  type StoredKey,
  type StoredLetter,
} from './stored-key.ts';

export interface Commit {
  readonly key: Key;
  readonly after: Position;
  readonly cursor: Cursor;
  readonly applied: AppliedMark | null;
  readonly letters: readonly DeadLetterInput[];
}

/** What a commit will change, decided before it is handed over. */
interface Plan {
  readonly committedCount: number;
  readonly cursorText: string;
  readonly newLetters: readonly StoredLetter[];
  readonly discards: readonly { readonly id: string; readonly by: string }[];
}

/** W2 and W3: offset, cursor and letters in one frame (D5, ING-201…212). The key's lock is held until it is durable: commits never cross. */
export async function commit(engine: Engine, order: Commit): Promise<void> {
  const { key } = order;
  if ((order.cursor as Cursor | null | undefined) === null || order.cursor === undefined)
    throw cursorRequired({ key });
  await engine.locks.with(
    key,
    async () => {
      assertWriter(engine);
      const stored = engine.store.keys.get(key);
      if (stored === undefined) throw epochMismatch({ key, position: order.after, epoch: 'none' });
      refuseQuarantined(stored);
      const plan = planCommit(engine, stored, order);
      if (plan !== undefined) await carryOut(engine, stored, order, plan);
    },
    undefined,
    'commit',
  );
}

export function refuseQuarantined({ key, quarantine }: StoredKey): void {
  if (quarantine !== null)
    throw sessionQuarantined({ keys: [key], reason: `${quarantine.code}: ${quarantine.message}` });
}

/** Undefined when it is done already: the same position with an equal cursor (ING-210). */
function planCommit(engine: Engine, stored: StoredKey, order: Commit): Plan | undefined {
  const { key, after, cursor, letters } = order;
  const committedCount = countAt(stored, after);
  const cursorText = JSON.stringify(cursor);
  const bytes = Buffer.byteLength(cursorText);
  const bytesMax = engine.limits.cursorBytesMax;
  if (bytes > bytesMax) {
    const fault = cursorTooLarge({ key, bytes, bytesMax });
    stopKey(engine, stored, fault);
    throw fault;
  }
  const isSamePlace = committedCount === stored.committedCount && stored.cursorText !== null;
  if (isSamePlace && canonical(stored.cursorText) !== canonical(cursorText))
    throw commitConflict({ key, position: after });
  if (isSamePlace && letters.length === 0) return undefined;
  return { committedCount, cursorText, ...planLetters(engine, stored, letters) };
}

function canonical(json: string | null): string {
  return canonicalJson(parseJson(json ?? 'null'));
}

/** How many records lie before a position that a reader got from this queue. */
function countAt(stored: StoredKey, after: Position): number {
  const { key, epoch, records, committedCount } = stored;
  const parts = parsePosition(after);
  if (parts === undefined || parts.epoch !== epoch)
    throw epochMismatch({ key, position: after, epoch });
  const committed = committedOffset(stored);
  if (parts.offset < committed)
    throw positionRegression({ key, position: after, committed: positionAt(epoch, committed) });
  if (parts.offset === committed) return committedCount;
  const at = records.findIndex(({ end }, index) => index >= committedCount && end === parts.offset);
  assert(at >= 0, `${after} is the end of a record of ${key}`);
  return at + 1;
}

function planLetters(
  engine: Engine,
  stored: StoredKey,
  letters: readonly DeadLetterInput[],
): Pick<Plan, 'newLetters' | 'discards'> {
  const newLetters: StoredLetter[] = [];
  const discards: { id: string; by: string }[] = [];
  for (const letter of letters) {
    if ('discarded' in letter) {
      const id = letter.discarded;
      const outcome = stored.letters.get(id)?.letter.outcome.kind ?? 'unknown';
      const isTaken = liveOf(engine, stored.key).settling.has(id);
      if (outcome !== 'live' || isTaken)
        throw deadLetterState({ id, outcome: isTaken ? 'being requeued' : outcome });
      discards.push({ id, by: letter.by });
      continue;
    }
    const made = letterOf(engine, stored, letter);
    // Idempotent by (epoch, start): a position that is dead already adds nothing (ING-718).
    if (!stored.letters.has(made.letter.id)) newLetters.push(made);
  }
  return { newLetters, discards };
}

function letterOf(
  engine: Engine,
  stored: StoredKey,
  input: Extract<DeadLetterInput, { at: Position }>,
): StoredLetter {
  const offset = parsePosition(input.at)?.offset;
  const record = stored.records.find((one) => one.offset === offset);
  assert(record !== undefined, `a dead letter of ${stored.key} stands at a record: ${input.at}`);
  const { attempts, error } = input;
  const letter: DeadLetterRecord = {
    id: letterIdAt(stored, record.offset),
    key: stored.key,
    at: input.at,
    after: positionAt(stored.epoch, record.end),
    epoch: stored.epoch,
    ts: new Date(engine.clock.now()).toISOString(),
    sha256: sha256Hex(input.raw),
    attempts,
    error,
    ...(record.eventId === undefined ? {} : { eventId: record.eventId }),
    payload: Buffer.from(input.raw),
    isRetired: false,
    outcome: { kind: 'live' },
  };
  return { letter, offset: record.offset };
}

async function carryOut(
  engine: Engine,
  stored: StoredKey,
  order: Commit,
  plan: Plan,
): Promise<void> {
  const { settling } = liveOf(engine, stored.key);
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const flight: Flight = { settled };
  for (const { id } of plan.discards) settling.set(id, flight);
  const release = (): void => {
    for (const { id } of plan.discards) settling.delete(id);
    resolve();
  };
  await engine.line.hand({
    apply() {
      change(engine.store, stored, () => applyPlan(engine, stored, order, plan));
      release();
    },
    failed: release,
  });
}

function applyPlan(engine: Engine, stored: StoredKey, order: Commit, plan: Plan): void {
  const { newLetters, discards } = plan;
  const passed = plan.committedCount - stored.committedCount;
  stored.committedCount = plan.committedCount;
  stored.cursorText = plan.cursorText;
  stored.applied = order.applied ?? stored.applied;
  for (const made of newLetters) {
    stored.letters.set(made.letter.id, made);
    mark(stored, made, 'dead');
  }
  const ts = new Date(engine.clock.now()).toISOString();
  for (const { id, by } of discards) {
    const known = stored.letters.get(id);
    assert(known !== undefined, `letter ${id} was looked at before it was discarded`);
    const outcome = { kind: 'discarded', ts, by } as const;
    stored.letters.set(id, { ...known, letter: { ...known.letter, outcome } });
    mark(stored, known, 'discarded');
  }
  const { totals } = stored;
  stored.totals = {
    ...totals,
    applied: totals.applied + passed - newLetters.length,
    dead: totals.dead + newLetters.length - discards.length,
    discarded: totals.discarded + discards.length,
  };
}

/** What a sender of the same id again is told by (ING-515). */
function mark(
  stored: StoredKey,
  { letter, offset }: StoredLetter,
  status: 'dead' | 'discarded',
): void {
  const { eventId } = letter;
  const entry = eventId === undefined ? undefined : stored.ids.get(eventId);
  if (eventId !== undefined && entry !== undefined && entry.offset === offset)
    stored.ids.set(eventId, { ...entry, status });
}
