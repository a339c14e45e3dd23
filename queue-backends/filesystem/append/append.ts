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
import { AppendFrame, type KeyOwner, type Owners } from './append-frame.ts';
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
import { refuseShut } from '../lifecycle/refuse-shut.ts';
import { assertWriter } from '../writer.ts';

/** Each turn settles all that the one before found; a request whose ids keep changing for so long is told to come again. */
const turnsMax = 64;

/** A request on its way through its turns. */
interface Asked {
  readonly keys: readonly Key[];
  readonly records: readonly AppendInput[];
  readonly options: AppendOptions;
  readonly learnt: Learnt;
}

/** Without a frame there was nothing to store. */
interface HandedOver {
  readonly outcomes: readonly AppendOutcome[];
  readonly frame: AppendFrame | undefined;
}

/** Handed over with its outcomes, or something to know first. */
type Turn = HandedOver | Judgement;

/** The one way in (ING-113, ING-120…127, ING-512…520). Nearly every request is handed over in this very step. */
export function append(
  engine: Engine,
  records: readonly AppendInput[],
  options: AppendOptions = {},
): Promise<readonly AppendOutcome[]> {
  try {
    assertWriter(engine);
    checkFraming(records);
    if (records.length === 0) return Promise.resolve([]);
    const asked = { keys: keysOf(records), records, options, learnt: {} };
    const turn = tryTurn(engine, asked);
    return turn !== undefined && 'outcomes' in turn
      ? onDisk(turn)
      : appendInTurns(engine, asked, turn);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** `tried` is the turn that was taken already; undefined if none could be. */
async function appendInTurns(
  engine: Engine,
  asked: Asked,
  tried: Turn | undefined,
): Promise<readonly AppendOutcome[]> {
  let turn = tried ?? (await takeTurn(engine, asked));
  for (let turns = 1; ; turns += 1) {
    if ('outcomes' in turn) return onDisk(turn);
    if (turns === turnsMax) throw draining({ what: 'a request whose ids keep changing' });
    if (turn.flights.length > 0) await orAborted(turn.flights, asked.options.signal);
    for (const look of turn.looks) await lookAt(engine, look, asked.learnt);
    turn = tryTurn(engine, asked) ?? (await takeTurn(engine, asked));
  }
}

/** Rejects with why the frame failed. */
function onDisk({ outcomes, frame }: HandedOver): Promise<readonly AppendOutcome[]> {
  return frame === undefined ? Promise.resolve(outcomes) : frame.answer(outcomes);
}

function keysOf(records: readonly AppendInput[]): readonly Key[] {
  const [first] = records;
  return records.length === 1 && first !== undefined
    ? [first.key]
    : [...new Set(records.map(({ key }) => key))];
}

/** Look-up, choice of positions and hand-over in this very step, when all is in memory and no key is held (ING-520). */
function tryTurn(engine: Engine, asked: Asked): Turn | undefined {
  for (const key of asked.keys) if (engine.table.get(key)?.isFinalising !== false) return undefined;
  for (const { settles } of asked.records) if (settles !== undefined) return undefined;
  return engine.locks.tryAll(asked.keys, () => admit(engine, asked))?.value;
}

/** The same under all guards, after the keys and the letters in question were read. */
async function takeTurn(engine: Engine, asked: Asked): Promise<Turn> {
  return engine.locks.withAll(
    asked.keys,
    async (guards) => {
      for (const guard of guards) await loadFor(engine, guard, asked);
      return admit(engine, asked);
    },
    'append',
  );
}

async function loadFor(engine: Engine, guard: KeyGuard, { records, learnt }: Asked): Promise<void> {
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
      (learnt.letters ??= new Map()).set(key, await readLetters(engine, key, state));
  } catch (error) {
    if (isMillraceError(error)) throw error;
    const { what } = describeDiskFault(error);
    throw queueWriteFailed({ reason: `${key} cannot be read: ${what}`, keys: [key] }, error);
  }
}

function admit(engine: Engine, { keys, records, options, learnt }: Asked): Turn {
  assertWriter(engine);
  refuseShut(engine, keys);
  const trouble = engine.journal.trouble;
  if (trouble !== undefined) throw trouble.error;
  const judgement = judge(engine, records, learnt);
  if (judgement.flights.length > 0 || judgement.looks.length > 0) return judgement;
  const { verdicts } = judgement;
  const isRefused = options.atomic === true && verdicts.some(isReject);
  const storable = isRefused ? [] : storableOf(verdicts);
  checkRoom(engine, storable);
  const owners = place(storable);
  const outcomes = outcomesOf(verdicts, storable);
  const duplicates =
    storable.length === verdicts.length ? noDuplicates : duplicatesOf(verdicts, outcomes);
  if (storable.length === 0) {
    for (const [state, count] of duplicates) {
      state.pendingDuplicates += count;
      engine.pendingDuplicates += count;
    }
    return { outcomes, frame: undefined };
  }
  const frame = makeFrame(engine, storable, owners, duplicates);
  engine.journal.submit(frame);
  return { outcomes, frame };
}

const noDuplicates: ReadonlyMap<KeyState, number> = new Map();

/** Positions are chosen before the frame is there: one that cannot be made gives them back, or the next record would stand behind a hole (QFS-03). */
function makeFrame(
  engine: Engine,
  placed: readonly Storable[],
  owners: Owners,
  duplicates: ReadonlyMap<KeyState, number>,
): AppendFrame {
  try {
    return new AppendFrame(engine, placed, owners, duplicates);
  } catch (error) {
    for (const { state, length } of placed) state.nextOffset -= length;
    for (const { state, owner } of owners) state.owner = owner;
    throw error;
  }
}

function isReject({ kind }: Verdict): boolean {
  return kind === 'conflict' || kind === 'foreign';
}

function isStorable(verdict: Verdict): verdict is Storable {
  return verdict.kind === 'store';
}

function storableOf(verdicts: readonly Verdict[]): readonly Storable[] {
  return verdicts.every(isStorable) ? verdicts : verdicts.filter(isStorable);
}

/** Gives each record its place behind the one before. Returns who owned the keys until then. */
function place(storable: readonly Storable[]): Owners {
  const owners: KeyOwner[] = [];
  const seen = storable.length === 1 ? undefined : new Set<KeyState>();
  for (const record of storable) {
    const { state, input, length } = record;
    if (seen?.has(state) !== true) {
      seen?.add(state);
      owners.push({ state, owner: state.owner });
    }
    record.offset = state.nextOffset;
    state.nextOffset += length;
    state.owner = ownerAfter(state.owner, input.principal);
  }
  return owners;
}

function outcomesOf(
  verdicts: readonly Verdict[],
  placed: readonly Storable[],
): readonly AppendOutcome[] {
  const outcomes: AppendOutcome[] = [];
  for (const verdict of verdicts) outcomes.push(outcomeOf(verdict, placed));
  return outcomes;
}

function outcomeOf(verdict: Verdict, placed: readonly Storable[]): AppendOutcome {
  switch (verdict.kind) {
    case 'store':
      return at('queued', verdict.state, verdict.offset);
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
  flights: readonly Flight[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const landed = Promise.all(flights.map(({ settled }) => settled));
  if (signal === undefined) {
    await landed;
    return;
  }
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(draining({ what: 'the wait for an event id on its way' }));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await Promise.race([landed, promise]);
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
  (learnt.digests ??= new Map()).set(nameOf(state, entry), digest);
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
