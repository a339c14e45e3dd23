import type { MillraceError } from '#base';
import {
  type AppendInput,
  type AppendOptions,
  type AppendOutcome,
  type KeyGuard,
  deadLetterState,
  draining,
} from '#queue';
import { type Key, contentDigest } from '#record';
import type { DedupEntry } from '#state';
import { type Placement, evaluate, isStorable } from './admission.ts';
import { AppendFrame, type PlacedRecord, placedBytes } from './append-frame.ts';
import { readLetters } from './dead-file.ts';
import { assertWriter } from './writer.ts';
import type { Engine } from './engine.ts';
import { type KeyState, positionOf } from './key-state.ts';
import { type SpaceWatch, checkFraming, checkLimits } from './limits.ts';
import type { AppendKey, AppendMeta, AppendRecord } from './payloads.ts';
import { readAt } from './read.ts';
import { freshState, loadState } from './state-table.ts';

/** Looks at the stored content of an id at most this often per request: each turn settles all that it found. */
const turnsMax = 64;

type Turn =
  | {
      readonly kind: 'handed';
      readonly outcomes: readonly AppendOutcome[];
      readonly durable: Promise<void>;
    }
  | { readonly kind: 'wait'; readonly inFlight: Promise<boolean> }
  | { readonly kind: 'compare'; readonly state: KeyState; readonly entry: DedupEntry };

/** Digests of stored content that this request has looked at, by key and offset. */
export type SeenContent = Map<string, string>;

/** The one way in (ING-113, ING-120…127, ING-512…520). */
export async function append(
  engine: Engine,
  space: SpaceWatch,
  records: readonly AppendInput[],
  options: AppendOptions = {},
): Promise<readonly AppendOutcome[]> {
  checkFraming(records);
  if (records.length === 0) return [];
  const keys = [...new Set(records.map(({ key }) => key))];
  const seen: SeenContent = new Map();
  await refuseSettled(engine, records);
  for (let turn = 0; turn < turnsMax; turn++) {
    const step = await takeTurn(engine, space, keys, records, options, seen);
    if (step.kind === 'handed') {
      await step.durable;
      return step.outcomes;
    }
    if (step.kind === 'wait') await orAborted(step.inFlight, options.signal);
    else await lookAt(engine, step.state, step.entry, seen);
  }
  throw draining({ what: 'a request whose ids keep changing' });
}

/** Look-up, choice of positions and hand-over in one synchronous step: at once when no key is held, else under all guards (ING-520). */
async function takeTurn(
  engine: Engine,
  space: SpaceWatch,
  keys: readonly Key[],
  records: readonly AppendInput[],
  options: AppendOptions,
  seen: SeenContent,
): Promise<Turn> {
  const inMemory = keys.every((key) => engine.table.get(key) !== undefined);
  const fast = inMemory
    ? engine.locks.tryAll(keys, () => admit(engine, space, records, options, seen))
    : undefined;
  if (fast !== undefined) return fast.value;
  return engine.locks.withAll(
    keys,
    async (guards) => {
      await loadAll(engine, guards, records);
      return admit(engine, space, records, options, seen);
    },
    'append',
  );
}

async function loadAll(
  engine: Engine,
  guards: readonly KeyGuard[],
  records: readonly AppendInput[],
): Promise<void> {
  for (const guard of guards) {
    if ((await loadState(engine, guard)) !== undefined) continue;
    const first = records.find(({ key }) => key === guard.key);
    freshState(engine, guard.key, first?.workspace ?? '', first?.session ?? '');
  }
}

function admit(
  engine: Engine,
  space: SpaceWatch,
  records: readonly AppendInput[],
  options: AppendOptions,
  seen: SeenContent,
): Turn {
  assertWriter(engine);
  const trouble = engine.journal.trouble;
  if (trouble !== undefined) throw trouble.error;
  const placement = evaluate(engine, records, seen);
  if (placement.open !== undefined) return placement.open;
  const storable = placement.verdicts.filter(isStorable);
  const isRefused =
    options.atomic === true &&
    storable.length <
      records.filter((_, at) => placement.verdicts[at]?.kind !== 'duplicate').length;
  if (isRefused || storable.length === 0) {
    countDuplicates(engine, placement);
    return { kind: 'handed', outcomes: outcomesOf(placement, []), durable: Promise.resolve() };
  }
  checkLimits(engine, space, groupByState(placement));
  const placed = place(placement);
  countDuplicates(engine, placement);
  return handOver(engine, placement, placed);
}

function groupByState(placement: Placement): Map<KeyState, AppendInput[]> {
  const groups = new Map<KeyState, AppendInput[]>();
  for (const verdict of placement.verdicts) {
    if (!isStorable(verdict)) continue;
    const group = groups.get(verdict.state);
    if (group === undefined) groups.set(verdict.state, [verdict.input]);
    else group.push(verdict.input);
  }
  return groups;
}

function place(placement: Placement): PlacedRecord[] {
  const placed: PlacedRecord[] = [];
  for (const verdict of placement.verdicts) {
    if (!isStorable(verdict)) continue;
    const { state, input } = verdict;
    const length = placedBytes(input);
    placed.push({
      state,
      input,
      offset: state.nextOffset,
      length,
      isRequeue: verdict.settles !== undefined && verdict.isLive,
    });
    state.nextOffset += length;
    state.owner ??= input.principal;
  }
  return placed;
}

function metaOf(engine: Engine, placement: Placement, placed: readonly PlacedRecord[]): AppendMeta {
  const states = [...new Set(placed.map(({ state }) => state))];
  const index = new Map(states.map((state, at) => [state, at]));
  const settles = placement.verdicts.filter(isStorable).map((verdict) => verdict.settles);
  const keys: AppendKey[] = states.map((state) => ({
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    ...(state.isOpen || state.isOpening ? {} : { open: openingOf(state) }),
    ...(state.pendingDuplicates === 0 ? {} : { dup: state.pendingDuplicates }),
  }));
  for (const state of states) {
    engine.duplicatesInFlight += state.pendingDuplicates;
    state.pendingDuplicates = 0;
    if (!state.isOpen) state.isOpening = true;
  }
  const records: AppendRecord[] = placed.map(({ state, input, offset, length, isRequeue }, at) => ({
    k: index.get(state) ?? 0,
    at: offset,
    len: length,
    ...(input.eventId === undefined ? {} : { id: input.eventId }),
    ...(input.isDerivedId === true ? { der: 1 as const } : {}),
    ...(settles[at] === undefined ? {} : { set: settles[at] }),
    ...(isRequeue ? { new: 0 as const } : {}),
  }));
  return { keys, records, t: engine.options.clock.now() };
}

function openingOf(state: KeyState): NonNullable<AppendKey['open']> {
  return {
    workspace: state.workspace,
    session: state.session,
    owner: state.owner,
    cursor: state.baseCursor,
    totals: { ...state.totals },
    applied: state.applied,
    isNew: state.ordinal === 0,
  };
}

function handOver(engine: Engine, placement: Placement, placed: readonly PlacedRecord[]): Turn {
  const meta = metaOf(engine, placement, placed);
  let resolve: () => void = () => undefined;
  let reject: (error: MillraceError) => void = () => undefined;
  const durable = new Promise<void>((onDurable, onFailed) => {
    resolve = onDurable;
    reject = onFailed;
  });
  const states = [...new Set(placed.map(({ state }) => state))];
  const frame = new AppendFrame(
    engine,
    placed,
    meta,
    () => {
      takeDurable(engine, meta, states, placed);
      resolve();
    },
    (error) => {
      for (const state of states) {
        if (!state.isOpen) state.owner = null;
        state.settling.clear();
      }
      reject(error);
    },
  );
  for (const [at, { state, input, offset, length }] of placed.entries()) {
    const settles = meta.records[at]?.set;
    if (settles !== undefined) state.settling.add(settles);
    if (input.eventId !== undefined)
      state.recent.set(input.eventId, {
        entry: {
          ordinal: state.ordinal,
          offset,
          length,
          status: 'live',
          isDerivedId: input.isDerivedId === true,
        },
        inFlight: frame.settled,
      });
  }
  const outcomes = outcomesOf(placement, placed);
  engine.journal.submit(frame);
  return { kind: 'handed', outcomes, durable };
}

/** What a durable frame changes beside the records themselves; recovery does the same from the meta. */
function takeDurable(
  engine: Engine,
  meta: AppendMeta,
  states: readonly KeyState[],
  placed: readonly PlacedRecord[],
): void {
  for (const [at, state] of states.entries()) {
    const key = meta.keys[at];
    if (!state.isOpen && state.ordinal === 0) engine.totals.keys++;
    state.isOpen = true;
    state.isOpening = false;
    engine.duplicatesInFlight -= key?.dup ?? 0;
    engine.filler.want(state);
  }
  for (const [at, { state, offset }] of placed.entries()) {
    const settles = meta.records[at]?.set;
    if (settles === undefined) continue;
    state.settling.delete(settles);
    state.newDead.push({
      v: 1,
      kind: 'requeued',
      id: settles,
      ts: new Date(meta.t).toISOString(),
      requeue_pos: positionOf(state, offset),
    });
  }
}

function countDuplicates(engine: Engine, placement: Placement): void {
  for (const verdict of placement.verdicts) {
    if (verdict.kind !== 'duplicate') continue;
    verdict.state.totals.duplicates++;
    verdict.state.pendingDuplicates++;
    engine.totals.duplicates++;
  }
}

function outcomesOf(placement: Placement, placed: readonly PlacedRecord[]): AppendOutcome[] {
  let next = 0;
  return placement.verdicts.map((verdict): AppendOutcome => {
    switch (verdict.kind) {
      case 'store': {
        const record = placed[next++];
        if (record === undefined) return { status: 'refused' };
        return {
          status: 'queued',
          epoch: verdict.state.epoch,
          position: positionOf(verdict.state, record.offset),
        };
      }
      case 'duplicate': {
        const twin = verdict.twin === undefined ? undefined : placed[verdict.twin];
        const offset = verdict.twin === undefined ? verdict.offset : twin?.offset;
        if (offset === undefined) return { status: 'refused' };
        return {
          status: 'duplicate',
          epoch: verdict.state.epoch,
          position: positionOf(verdict.state, offset),
        };
      }
      case 'conflict':
        return {
          status: 'conflict',
          position: positionOf(verdict.state, verdict.offset),
          storedSha256: verdict.storedSha256,
        };
      case 'foreign':
        return { status: 'foreign', owner: verdict.owner };
    }
  });
}

async function orAborted(
  inFlight: Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) {
    await inFlight;
    return;
  }
  const deadline = draining({ what: 'the wait for an event id in flight' });
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => reject(deadline);
    signal.addEventListener('abort', onAbort, { once: true });
    void inFlight.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
  });
}

async function lookAt(
  engine: Engine,
  state: KeyState,
  entry: DedupEntry,
  seen: SeenContent,
): Promise<void> {
  const stored = await engine.locks.with(state.key, () =>
    readAt(engine, state, entry.offset, entry.length),
  );
  // A record whose bytes left the log had its digest kept (ING-517); without either, the id alone decides.
  seen.set(
    `${state.key} ${entry.offset}`,
    stored === undefined ? (entry.contentSha256 ?? '') : contentDigest(stored),
  );
}

/** A second requeue of a letter that has an outcome is refused with its outcome (ING-714). */
async function refuseSettled(engine: Engine, records: readonly AppendInput[]): Promise<void> {
  for (const { settles, key } of records) {
    if (settles === undefined) continue;
    const letters = await engine.locks.with(key, async (guard) => {
      const state = await loadState(engine, guard);
      return state === undefined ? [] : readLetters(engine, state);
    });
    const outcome = letters.find(({ id }) => id === settles)?.outcome.kind ?? 'unknown';
    const isOnItsWay = engine.table.get(key)?.settling.has(settles) === true;
    if (outcome !== 'live' || isOnItsWay)
      throw deadLetterState({ id: settles, outcome: isOnItsWay ? 'on its way' : outcome });
  }
}
