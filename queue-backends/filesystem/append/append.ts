import { isMillraceError } from '#base';
import { describeDiskFault } from '#disk';
import {
  type AppendInput,
  type AppendOptions,
  type AppendOutcome,
  type KeyGuard,
  draining,
  queueWriteFailed,
  ownerAfter,
} from '#queue';
import { type Key, contentDigest } from '#record';
import {
  type Judgement,
  type Learnt,
  type Look,
  type Storable,
  type Verdict,
  judge,
  nameOf,
} from './admission.ts';
import { AppendFrame, type PlacedRecord } from './append-frame.ts';
import { readLetters } from '../session/dead-file.ts';
import type { Engine } from '../engine.ts';
import { type Flight, type KeyState, positionOf } from '../session/key-state.ts';
import { checkFraming, checkRoom } from './limits.ts';
import { idOf } from '../session/event-id.ts';
import { loadState } from '../session/load-key.ts';
import { freshState } from '../session/fresh-key.ts';
import { quarantineKey } from '../quarantine.ts';
import { completeFinalise } from '../lifecycle/finalise.ts';
import { readAt } from '../session/read-record.ts';
import { storedBytes } from '../session/stored-line.ts';
import { refuseShut } from '../lifecycle/refuse-shut.ts';
import { assertWriter } from '../writer.ts';

/** Each turn settles all that the one before found; a request whose ids keep changing for so long is told to come again. */
const turnsMax = 64;

/** Handed over with its outcomes, or something to know first. */
type Turn =
  | {
      readonly outcomes: readonly AppendOutcome[];
      readonly frame: AppendFrame | undefined;
    }
  | Judgement;

/** The one way in (ING-113, ING-120…127, ING-512…520). */
export async function append(
  engine: Engine,
  records: readonly AppendInput[],
  options: AppendOptions = {},
): Promise<readonly AppendOutcome[]> {
  assertWriter(engine);
  checkFraming(records);
  if (records.length === 0) return [];
  const keys = keysOf(records);
  const learnt: Learnt = { digests: new Map(), letters: new Map() };
  for (let turn = 0; turn < turnsMax; turn += 1) {
    const step =
      tryTurn(engine, keys, records, options, learnt) ??
      (await takeTurn(engine, keys, records, options, learnt));
    if ('outcomes' in step) {
      if (step.frame !== undefined && !(await step.frame.settled))
        throw step.frame.error ?? queueWriteFailed({ reason: 'unknown' });
      return step.outcomes;
    }
    if (step.flights.length > 0) await orAborted(Promise.all(step.flights), options.signal);
    for (const look of step.looks) await lookAt(engine, look, learnt);
  }
  throw draining({ what: 'a request whose ids keep changing' });
}

function keysOf(records: readonly AppendInput[]): readonly Key[] {
  const [first] = records;
  return records.length === 1 && first !== undefined
    ? [first.key]
    : [...new Set(records.map(({ key }) => key))];
}

/** Look-up, choice of positions and hand-over in this very step, when all is in memory and no key is held (ING-520). */
function tryTurn(
  engine: Engine,
  keys: readonly Key[],
  records: readonly AppendInput[],
  options: AppendOptions,
  learnt: Learnt,
): Turn | undefined {
  for (const key of keys) if (engine.table.get(key)?.isFinalising !== false) return undefined;
  for (const { settles } of records) if (settles !== undefined) return undefined;
  return engine.locks.tryAll(keys, () => admit(engine, records, options, learnt))?.value;
}

/** The same under all guards, after the keys and the letters in question were read. */
async function takeTurn(
  engine: Engine,
  keys: readonly Key[],
  records: readonly AppendInput[],
  options: AppendOptions,
  learnt: Learnt,
): Promise<Turn> {
  return engine.locks.withAll(
    keys,
    async (guards) => {
      for (const guard of guards) await loadFor(engine, guard, records, learnt);
      return admit(engine, records, options, learnt);
    },
    'append',
  );
}

async function loadFor(
  engine: Engine,
  guard: KeyGuard,
  records: readonly AppendInput[],
  learnt: Learnt,
): Promise<void> {
  const { key } = guard;
  const mine = records.filter((record) => record.key === key);
  try {
    let state = await loadState(engine, guard);
    if (state?.isFinalising === true) {
      // Before anything else (ING-802): the record belongs to the next epoch.
      await completeFinalise(engine, guard, state);
      state = undefined;
    }
    state ??= freshState(engine, key, mine[0]?.workspace ?? '', mine[0]?.session ?? '');
    if (mine.some(({ settles }) => settles !== undefined))
      learnt.letters.set(key, await readLetters(engine, key, state));
  } catch (error) {
    if (isMillraceError(error)) throw error;
    const { what } = describeDiskFault(error);
    throw queueWriteFailed({ reason: `${key} cannot be read: ${what}`, keys: [key] }, error);
  }
}

function admit(
  engine: Engine,
  records: readonly AppendInput[],
  options: AppendOptions,
  learnt: Learnt,
): Turn {
  assertWriter(engine);
  refuseShut(
    engine,
    records.map(({ key }) => key),
  );
  const trouble = engine.journal.trouble;
  if (trouble !== undefined) throw trouble.error;
  const judgement = judge(engine, records, learnt);
  if (judgement.flights.length > 0 || judgement.looks.length > 0) return judgement;
  const { verdicts } = judgement;
  const isRefused = options.atomic === true && verdicts.some(isReject);
  const storable = isRefused ? [] : verdicts.filter(isStorable);
  checkRoom(engine, storable);
  const owners = new Map<KeyState, string | null>();
  const placed = storable.map((verdict) => place(verdict, owners));
  const outcomes = outcomesOf(verdicts, placed);
  const duplicates = duplicatesOf(verdicts, outcomes);
  if (placed.length === 0) {
    for (const [state, count] of duplicates) {
      state.pendingDuplicates += count;
      engine.pendingDuplicates += count;
    }
    return { outcomes, frame: undefined };
  }
  const frame = makeFrame(engine, placed, owners, duplicates);
  engine.journal.submit(frame);
  return { outcomes, frame };
}

/** Positions are chosen before the frame is there: one that cannot be made gives them back, or the next record would stand behind a hole (QFS-03). */
function makeFrame(
  engine: Engine,
  placed: readonly PlacedRecord[],
  owners: ReadonlyMap<KeyState, string | null>,
  duplicates: ReadonlyMap<KeyState, number>,
): AppendFrame {
  try {
    return new AppendFrame(engine, placed, owners, duplicates);
  } catch (error) {
    for (const { state, length } of placed) state.nextOffset -= length;
    for (const [state, owner] of owners) state.owner = owner;
    throw error;
  }
}

function isReject({ kind }: Verdict): boolean {
  return kind === 'conflict' || kind === 'foreign';
}

function isStorable(verdict: Verdict): verdict is Storable {
  return verdict.kind === 'store';
}

function place(
  { state, input, settles }: Storable,
  owners: Map<KeyState, string | null>,
): PlacedRecord {
  if (!owners.has(state)) owners.set(state, state.owner);
  const length = storedBytes(input.raw);
  const offset = state.nextOffset;
  state.nextOffset += length;
  state.owner = ownerAfter(state.owner, input.principal);
  return { state, input, offset, length, settles };
}

function outcomesOf(
  verdicts: readonly Verdict[],
  placed: readonly PlacedRecord[],
): readonly AppendOutcome[] {
  let next = 0;
  return verdicts.map((verdict): AppendOutcome => {
    switch (verdict.kind) {
      case 'store':
        return at('queued', verdict.state, placed[next++]?.offset);
      case 'duplicate': {
        const { state, first } = verdict;
        if ('twin' in first) return at('duplicate', state, placed[first.twin]?.offset);
        return { status: 'duplicate', ...first };
      }
      case 'conflict': {
        const { position, storedSha256 } = verdict;
        return { status: 'conflict', position, storedSha256 };
      }
      case 'foreign':
        return { status: 'foreign', owner: verdict.owner };
    }
  });
}

/** Without a place the record was storable and left out, or the twin of one that was. */
function at(status: 'queued' | 'duplicate', state: KeyState, offset?: number): AppendOutcome {
  return offset === undefined
    ? { status: 'refused' }
    : { status, epoch: state.epoch, position: positionOf(state, offset) };
}

function duplicatesOf(
  verdicts: readonly Verdict[],
  outcomes: readonly AppendOutcome[],
): ReadonlyMap<KeyState, number> {
  const counts = new Map<KeyState, number>();
  for (const [index, verdict] of verdicts.entries())
    if (verdict.kind === 'duplicate' && outcomes[index]?.status === 'duplicate')
      counts.set(verdict.state, (counts.get(verdict.state) ?? 0) + 1);
  return counts;
}

/** Gives up the wait alone; nothing of the request was handed over. */
async function orAborted(
  flights: Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) {
    await flights;
    return;
  }
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(draining({ what: 'the wait for an event id on its way' }));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await Promise.race([flights as Promise<readonly Awaited<Flight>[]>, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** A record whose bytes left the log had its digest kept (ING-517); without either, and in a damaged log, the id alone decides. */
async function lookAt(engine: Engine, look: Look, learnt: Learnt): Promise<void> {
  const { state, entry } = look;
  const { key } = state;
  const digest = await engine.locks.with(key, async () => {
    try {
      const isHere = entry.ordinal === state.ordinal;
      const stored = isHere ? await readAt(engine, state, entry.offset, entry.length) : undefined;
      return stored !== undefined && isOfId(engine, look, stored)
        ? contentDigest(stored)
        : (entry.contentSha256 ?? '');
    } catch (error) {
      if (!isMillraceError(error))
        throw queueWriteFailed({ reason: `the log of ${key} cannot be read`, keys: [key] }, error);
      await quarantineKey(engine, state, error);
      return entry.contentSha256 ?? '';
    }
  });
  learnt.digests.set(nameOf(state, entry), digest);
}

/**
 * Whether a sound record is the one that the index means. An id that was moved by a requeue leads to a record of another one, which the index has at the same
 * place; a log of another time that was put in place has records that it does not, and they are no reason to refuse an event that is known.
 */
function isOfId(engine: Engine, { state, eventId, entry }: Look, stored: Uint8Array): boolean {
  const found = idOf(stored)?.id;
  if (found === undefined || found === eventId) return true;
  const there = engine.indexer.find(state, found);
  return there?.ordinal === entry.ordinal && there.offset === entry.offset;
}
