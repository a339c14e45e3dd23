import { assert } from '#base';
import type { AppendInput } from '#queue';
import { contentDigest } from '#record';
import type { DedupEntry } from '#state';
import type { SeenContent } from './append.ts';
import type { Engine } from './engine.ts';
import { letterIdAt } from './dead-file.ts';
import type { KeyState } from './key-state.ts';

/** What is to become of one record; pure but for look-ups in the index. */
export type Verdict =
  | {
      readonly kind: 'store';
      readonly state: KeyState;
      readonly input: AppendInput;
      readonly settles?: string;
      /** The letter that it settles still counts as dead; false for one that was discarded. */
      readonly isLive: boolean;
    }
  /** `twin`: index among the stored records of this very request. */
  | {
      readonly kind: 'duplicate';
      readonly state: KeyState;
      readonly offset: number;
      readonly twin?: number;
    }
  | {
      readonly kind: 'conflict';
      readonly state: KeyState;
      readonly offset: number;
      readonly storedSha256: string;
    }
  | { readonly kind: 'foreign'; readonly state: KeyState; readonly owner: string };

export type Open =
  | { readonly kind: 'wait'; readonly inFlight: Promise<boolean> }
  | { readonly kind: 'compare'; readonly state: KeyState; readonly entry: DedupEntry };

export interface Placement {
  readonly verdicts: readonly Verdict[];
  /** What must be known first; then the request is judged again from the start. */
  readonly open?: Open;
}

export function isStorable(verdict: Verdict): verdict is Extract<Verdict, { kind: 'store' }> {
  return verdict.kind === 'store';
}

interface Twin {
  readonly index: number;
  readonly input: AppendInput;
}

export function evaluate(
  engine: Engine,
  records: readonly AppendInput[],
  seen: SeenContent,
): Placement {
  const verdicts: Verdict[] = [];
  const twins = new Map<string, Twin>();
  let stored = 0;
  for (const input of records) {
    const state = engine.table.get(input.key);
    assert(state !== undefined, `${input.key} is in memory before it is judged`);
    const found = judge(engine, state, input, twins, seen);
    if (found.kind === 'wait' || found.kind === 'compare') return { verdicts: [], open: found };
    verdicts.push(found);
    if (found.kind !== 'store') continue;
    if (input.eventId !== undefined)
      twins.set(`${input.key} ${input.eventId}`, { index: stored, input });
    stored++;
  }
  return { verdicts };
}

function judge(
  engine: Engine,
  state: KeyState,
  input: AppendInput,
  twins: Map<string, Twin>,
  seen: SeenContent,
): Verdict | Open {
  if (state.owner !== null && state.owner !== input.principal && input.mayWriteForeign !== true)
    return { kind: 'foreign', state, owner: state.owner };
  if (input.eventId === undefined) return store(state, input);
  const twin = twins.get(`${input.key} ${input.eventId}`);
  if (twin !== undefined) return judgeTwin(state, input, twin);
  const recent = state.recent.get(input.eventId);
  if (recent?.inFlight !== undefined) return { kind: 'wait', inFlight: recent.inFlight };
  const entry = engine.indexer.find(state, input.eventId);
  return entry === undefined ? store(state, input) : judgeKnown(state, input, entry, seen);
}

function store(state: KeyState, input: AppendInput): Verdict {
  return input.settles === undefined
    ? { kind: 'store', state, input, isLive: false }
    : { kind: 'store', state, input, settles: input.settles, isLive: true };
}

/** Two records of one id in one request. */
function judgeTwin(state: KeyState, input: AppendInput, twin: Twin): Verdict {
  const isDerived = input.isDerivedId === true || twin.input.isDerivedId === true;
  const digest = contentDigest(twin.input.raw);
  if (!isDerived && digest !== contentDigest(input.raw))
    return { kind: 'conflict', state, offset: state.nextOffset, storedSha256: digest };
  return { kind: 'duplicate', state, offset: 0, twin: twin.index };
}

function judgeKnown(
  state: KeyState,
  input: AppendInput,
  entry: DedupEntry,
  seen: SeenContent,
): Verdict | Open {
  if (input.settles !== undefined) return store(state, input);
  const isDerived = entry.isDerivedId || input.isDerivedId === true;
  if (!isDerived) {
    const stored = seen.get(`${state.key} ${entry.offset}`);
    if (stored === undefined) return { kind: 'compare', state, entry };
    if (stored !== '' && stored !== contentDigest(input.raw))
      return { kind: 'conflict', state, offset: entry.offset, storedSha256: stored };
  }
  if (entry.status === 'live') return { kind: 'duplicate', state, offset: entry.offset };
  // Of a dead one the re-send is a requeue by its client; a discarded one counts as new (ING-515, ING-717).
  if (entry.status === 'discarded') return { kind: 'store', state, input, isLive: false };
  return { kind: 'store', state, input, settles: letterIdAt(state, entry.offset), isLive: true };
}
