import { deadLetterState, isForeign, type AppendInput } from '#queue';
import { contentDigest } from '#record';
import type { Flight, LiveKey } from './live-key.ts';
import { letterIdAt, positionAt, type StoredId } from './stored-key.ts';

/** What is to become of one record. */
export type Verdict =
  | {
      readonly kind: 'store';
      readonly live: LiveKey;
      readonly input: AppendInput;
      /** The letter whose outcome this record is. */
      readonly settles: string | undefined;
    }
  /** `twin`: index of the verdict in this very request that is stored. */
  | { readonly kind: 'duplicate'; readonly live: LiveKey; readonly of: number | { twin: number } }
  | {
      readonly kind: 'conflict';
      readonly live: LiveKey;
      readonly of: number;
      readonly sha256: string;
    }
  | { readonly kind: 'foreign'; readonly owner: string };

export type Stored = Extract<Verdict, { kind: 'store' }>;

export type Judgement =
  | { readonly verdicts: readonly Verdict[]; readonly waitFor?: undefined }
  /** An outcome on its way decides; the request is judged again after it. */
  | { readonly waitFor: Flight; readonly verdicts?: undefined };

interface Request {
  readonly twins: Map<string, number>;
  readonly verdicts: Verdict[];
}

/** Judges a request, record by record; changes nothing. Throws DEAD_LETTER_STATE for a letter that cannot be settled (ING-714). */
export function judge(
  records: readonly AppendInput[],
  liveOf: (input: AppendInput) => LiveKey,
): Judgement {
  const request: Request = { twins: new Map(), verdicts: [] };
  for (const input of records) {
    const live = liveOf(input);
    const found = judgeOne(live, input, request);
    if ('settled' in found) return { waitFor: found };
    if (found.kind === 'store' && input.eventId !== undefined)
      request.twins.set(twinName(input), request.verdicts.length);
    request.verdicts.push(found);
  }
  return { verdicts: request.verdicts };
}

function twinName({ key, eventId }: AppendInput): string {
  return `${key} ${eventId ?? ''}`;
}

function judgeOne(live: LiveKey, input: AppendInput, request: Request): Verdict | Flight {
  const owner = live.claim?.owner ?? live.stored?.owner ?? null;
  if (isForeign(owner, input))
    return live.claim === undefined ? { kind: 'foreign', owner } : live.claim.flight;
  if (input.settles !== undefined) return judgeSettling(live, input, input.settles);
  if (input.eventId === undefined) return store(live, input);
  const twin = request.twins.get(twinName(input));
  if (twin !== undefined) return judgeTwin(live, input, twin, request.verdicts[twin] as Stored);
  const inFlight = live.ids.get(input.eventId);
  if (inFlight !== undefined) return inFlight;
  const known = live.stored?.ids.get(input.eventId);
  return known === undefined ? store(live, input) : judgeKnown(live, input, known);
}

function store(live: LiveKey, input: AppendInput, settles?: string): Verdict {
  return { kind: 'store', live, input, settles };
}

function judgeSettling(live: LiveKey, input: AppendInput, id: string): Verdict | Flight {
  const inFlight = live.settling.get(id);
  if (inFlight !== undefined) return inFlight;
  const outcome = live.stored?.letters.get(id)?.letter.outcome.kind ?? 'unknown';
  if (outcome !== 'live') throw deadLetterState({ id, outcome });
  return store(live, input, id);
}

function judgeTwin(live: LiveKey, input: AppendInput, twin: number, first: Stored): Verdict {
  const isDerived = input.isDerivedId === true || first.input.isDerivedId === true;
  const sha256 = contentDigest(first.input.raw);
  if (!isDerived && contentDigest(input.raw) !== sha256)
    return { kind: 'conflict', live, of: live.nextOffset, sha256 };
  return { kind: 'duplicate', live, of: { twin } };
}

/** ING-515, ING-517 */
function judgeKnown(live: LiveKey, input: AppendInput, known: StoredId): Verdict | Flight {
  if (!known.isDerived && input.isDerivedId !== true) {
    const sha256 = contentDigest(known.content);
    if (contentDigest(input.raw) !== sha256)
      return { kind: 'conflict', live, of: known.offset, sha256 };
  }
  if (known.status === 'live') return { kind: 'duplicate', live, of: known.offset };
  // One of a discarded record counts as new (ING-717); of a dead one it is a requeue by the client.
  if (known.status === 'discarded') return store(live, input);
  const id = letterIdAt(live, known.offset);
  return live.settling.get(id) ?? store(live, input, id);
}

/** Where a record of this key would be, as a position. */
export function placeOf(live: LiveKey, offset: number): ReturnType<typeof positionAt> {
  return positionAt(live.epoch, offset);
}
