import { assert } from '#base';
import {
  type AppendInput,
  type DeadLetterRecord,
  deadLetterState,
  sessionQuarantined,
  isForeign,
} from '#queue';
import { type Key, type Position, contentDigest, parsePosition } from '#record';
import type { DedupEntry } from '#state';
import type { Engine } from '../engine.ts';
import { type Flight, type KeyState, positionOf } from '../session/key-state.ts';
import { letterIdAt, outcomeSince } from '../session/letters.ts';
import { epochAt, placeOf } from '../session/place-of.ts';
import { storedBytes } from '../session/stored-line.ts';
import type { SettledLetter } from '../journal/payloads.ts';

/** A record that is to be stored. One object for all of its way: a busy daemon makes tens of thousands in a second, and many live to see a collection. */
export interface Storable {
  readonly kind: 'store';
  readonly state: KeyState;
  readonly input: AppendInput;
  readonly settles: SettledLetter | undefined;
  /** Bytes of its stored line. */
  readonly length: number;
  /** Where in its log; undefined until it is given a place. */
  offset: number | undefined;
  /** What the index will say of it, where it has an id. */
  entry: DedupEntry | undefined;
  /** Its stored line, in the buffer of its group. */
  bytes: Uint8Array | undefined;
}

/** What is to become of one record; pure but for look-ups in the index. */
export type Verdict =
  | Storable
  | { readonly kind: 'duplicate'; readonly state: KeyState; readonly first: FirstOfId }
  | {
      readonly kind: 'conflict';
      readonly state: KeyState;
      readonly position: Position;
      readonly storedSha256: string;
    }
  | { readonly kind: 'foreign'; readonly owner: string };

/** Where the first record of an id is: in a log of its key, or among the stored records of this very request. */
export type FirstOfId =
  | { readonly epoch: string; readonly position: Position }
  | { readonly twin: number };

/** A stored record whose content decides, and must be read first. */
export interface Look {
  readonly state: KeyState;
  readonly eventId: string;
  readonly entry: DedupEntry;
}

/** What a request has learnt while it was judged before: nearly always nothing. */
export interface Learnt {
  /** Digests of stored content, by `nameOf`; empty where nothing but the id can decide any more. */
  digests?: Map<string, string>;
  /** Letters of the keys of which a record settles one; read under the guards that are held still. */
  letters?: Map<Key, readonly DeadLetterRecord[]>;
}

export interface Judgement {
  readonly verdicts: readonly Verdict[];
  /** With either of these the request is judged again, once they are known. */
  readonly flights: readonly Flight[];
  readonly looks: readonly Look[];
}

export function nameOf(state: KeyState, entry: DedupEntry): string {
  return `${state.key} ${entry.ordinal} ${entry.offset}`;
}

const none: readonly never[] = [];

/** Made for every append, so nothing in it is made before it is needed. */
interface Request {
  readonly engine: Engine;
  readonly learnt: Learnt;
  twins: Map<string, { readonly index: number; readonly input: AppendInput }> | undefined;
  flights: Set<Flight> | undefined;
  looks: Map<string, Look> | undefined;
}

export function judge(engine: Engine, records: readonly AppendInput[], learnt: Learnt): Judgement {
  const request: Request = {
    engine,
    learnt,
    twins: records.length > 1 ? new Map() : undefined,
    flights: undefined,
    looks: undefined,
  };
  const verdicts: Verdict[] = [];
  let stored = 0;
  for (const input of records) {
    const verdict = judgeOne(request, input);
    if (verdict === undefined) continue;
    verdicts.push(verdict);
    if (verdict.kind !== 'store') continue;
    if (input.eventId !== undefined) request.twins?.set(twinName(input), { index: stored, input });
    stored += 1;
  }
  const { flights, looks } = request;
  return {
    verdicts,
    flights: flights === undefined ? none : [...flights],
    looks: looks === undefined ? none : [...looks.values()],
  };
}

function isPassedOver(state: KeyState, { ordinal, offset }: DedupEntry): boolean {
  if (state.ranges.length === 0 || ordinal !== state.ordinal) return false;
  return state.ranges.some(({ start, end }) => offset >= start && offset < end);
}

function twinName({ key, eventId }: AppendInput): string {
  return `${key} ${eventId ?? ''}`;
}

/** Undefined when something must be known first; it is noted in the request. */
function judgeOne(request: Request, input: AppendInput): Verdict | undefined {
  const state = request.engine.table.get(input.key);
  assert(state !== undefined, `${input.key} is in memory before it is judged`);
  if (isForeign(state.owner, input)) {
    // Who claims the key may fail to (ING-127).
    const claim = state.opening ?? state.claiming;
    if (claim !== undefined) return later(request, claim);
    return { kind: 'foreign', owner: state.owner };
  }
  if (input.settles !== undefined) return judgeSettling(request, state, input, input.settles);
  if (input.eventId === undefined) return store(state, input);
  const twin = request.twins?.get(twinName(input));
  if (twin !== undefined) return judgeTwin(state, input, twin);
  const inFlight = state.recent.get(input.eventId)?.inFlight;
  if (inFlight !== undefined) return later(request, inFlight);
  const entry = request.engine.indexer.find(state, input.eventId);
  return entry === undefined ? store(state, input) : judgeKnown(request, state, input, entry);
}

function later(request: Request, flight: Flight): undefined {
  (request.flights ??= new Set()).add(flight);
  return undefined;
}

function store(state: KeyState, input: AppendInput, settles?: SettledLetter): Storable {
  const length = storedBytes(input.raw);
  return {
    kind: 'store',
    state,
    input,
    settles,
    length,
    offset: undefined,
    entry: undefined,
    bytes: undefined,
  };
}

/** A second requeue of a letter that has an outcome is refused with its outcome (ING-714), and so is one into a stopped key (ING-715). */
function judgeSettling(
  request: Request,
  state: KeyState,
  input: AppendInput,
  id: string,
): Verdict | undefined {
  const inFlight = state.settling.get(id);
  if (inFlight !== undefined) return later(request, inFlight);
  if (state.quarantine !== null)
    throw sessionQuarantined({ keys: [state.key], reason: state.quarantine.code });
  const letter = request.learnt.letters?.get(state.key)?.find((one) => one.id === id);
  const outcome = outcomeSince(state, id) ?? letter?.outcome.kind ?? 'unknown';
  if (letter === undefined || outcome !== 'live') throw deadLetterState({ id, outcome });
  const place = parsePosition(letter.at);
  assert(place !== undefined, `${letter.at} is where a letter stood`);
  return store(state, input, settledBy(state, id, place, letter.eventId));
}

/** Two records of one id in one request. */
function judgeTwin(
  state: KeyState,
  input: AppendInput,
  twin: { readonly index: number; readonly input: AppendInput },
): Verdict {
  const isDerived = input.isDerivedId === true || twin.input.isDerivedId === true;
  const storedSha256 = contentDigest(twin.input.raw);
  if (!isDerived && storedSha256 !== contentDigest(input.raw))
    return {
      kind: 'conflict',
      state,
      position: positionOf(state, state.nextOffset),
      storedSha256,
    };
  return { kind: 'duplicate', state, first: { twin: twin.index } };
}

/** ING-515, ING-517 */
function judgeKnown(
  request: Request,
  state: KeyState,
  input: AppendInput,
  entry: DedupEntry,
): Verdict | undefined {
  // Its bytes were passed over: nobody can tell any more what it was, and the sender still has it.
  if (isPassedOver(state, entry)) return store(state, input);
  const first = placeOf(request.engine, state, entry);
  if (!entry.isDerivedId && input.isDerivedId !== true) {
    const storedSha256 = request.learnt.digests?.get(nameOf(state, entry));
    if (storedSha256 === undefined) {
      (request.looks ??= new Map()).set(nameOf(state, entry), {
        state,
        eventId: input.eventId ?? '',
        entry,
      });
      return undefined;
    }
    if (storedSha256 !== '' && storedSha256 !== contentDigest(input.raw))
      return { kind: 'conflict', state, position: first.position, storedSha256 };
  }
  if (entry.status === 'live') return { kind: 'duplicate', state, first };
  // Of a dead one the re-send is a requeue by its client; a discarded one counts as new (ING-717).
  if (entry.status === 'discarded') return store(state, input);
  const epoch = epochAt(request.engine, state, entry.ordinal);
  // Nobody knows the letter's name any more: it stays, and an operator can still see to it.
  if (epoch === undefined) return store(state, input);
  const id = letterIdAt({ key: state.key, epoch }, entry.offset);
  const inFlight = state.settling.get(id);
  if (inFlight !== undefined) return later(request, inFlight);
  return store(state, input, settledBy(state, id, entry, input.eventId));
}

function settledBy(
  state: KeyState,
  id: string,
  { ordinal, offset: at }: { readonly ordinal: number; readonly offset: number },
  eid: string | undefined,
): SettledLetter {
  return {
    id,
    at,
    ...(ordinal === state.ordinal ? {} : { o: ordinal }),
    ...(eid === undefined ? {} : { eid }),
  };
}
