import { assert } from '#base';
import { ownerAfter, type AppendInput } from '#queue';
import type { Stored } from './admission.ts';
import type { Engine } from './engine.ts';
import type { Frame } from './frame-line.ts';
import { takeBack, type Flight, type LiveKey } from './live-key.ts';
import { change } from './memory-store.ts';
import { positionAt, type StoredKey, type StoredRecord } from './stored-key.ts';

export interface PlacedRecord {
  readonly verdict: Stored;
  readonly live: LiveKey;
  readonly input: AppendInput;
  readonly settles: string | undefined;
  readonly record: StoredRecord;
}

/** The records of one request, all or none (ING-113), with the outcomes of the letters that they settle (ING-714). */
export function appendFrame(
  engine: Engine,
  placed: readonly PlacedRecord[],
  duplicates: readonly LiveKey[],
): Frame {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const flight: Flight = { settled };
  for (const one of placed) reserve(one, flight);
  const release = (): void => {
    for (const one of placed) {
      letGo(one, flight);
      engine.inFlightBytes -= one.record.end - one.record.offset;
    }
    resolve();
  };
  return {
    apply() {
      for (const one of placed) take(engine, one);
      for (const live of duplicates) countDuplicate(live);
      release();
    },
    failed() {
      release();
      for (const { live } of placed) takeBack(live);
    },
  };
}

export function countDuplicate({ stored }: LiveKey): void {
  assert(stored !== undefined, 'a duplicate has a first record');
  stored.totals = { ...stored.totals, duplicates: stored.totals.duplicates + 1 };
}

function reserve({ live, input, settles }: PlacedRecord, flight: Flight): void {
  const ownerBefore = live.claim?.owner ?? live.stored?.owner ?? null;
  const owner = ownerAfter(ownerBefore, input.principal);
  const isFirst = live.stored === undefined && live.claim === undefined;
  if (isFirst || owner !== ownerBefore) live.claim = { owner, flight };
  if (input.eventId !== undefined) live.ids.set(input.eventId, flight);
  if (settles !== undefined) live.settling.set(settles, flight);
}

function letGo({ live, input, settles }: PlacedRecord, flight: Flight): void {
  if (live.claim?.flight === flight) live.claim = undefined;
  if (input.eventId !== undefined) live.ids.delete(input.eventId);
  if (settles !== undefined) live.settling.delete(settles);
}

function take(engine: Engine, one: PlacedRecord): void {
  const { live, input, settles, record } = one;
  const stored = (live.stored ??= openKey(engine, live, input));
  change(engine.store, stored, () => {
    stored.owner = ownerAfter(stored.owner, input.principal);
    stored.records.push(record);
    const { totals } = stored;
    if (settles === undefined) stored.totals = { ...totals, accepted: totals.accepted + 1 };
    else {
      stored.totals = { ...totals, dead: totals.dead - 1 };
      requeue(engine, stored, settles, record);
    }
    if (input.eventId !== undefined) {
      const isDerived = input.isDerivedId === true;
      const { offset, raw: content } = record;
      stored.ids.set(input.eventId, { offset, status: 'live', isDerived, content });
    }
  });
}

function openKey(engine: Engine, live: LiveKey, input: AppendInput): StoredKey {
  const stored: StoredKey = {
    key: live.key,
    workspace: input.workspace,
    session: input.session,
    owner: null,
    epoch: live.epoch,
    records: [],
    ids: new Map(),
    letters: new Map(),
    committedCount: 0,
    cursorText: null,
    applied: null,
    totals: { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0 },
    quarantine: null,
  };
  engine.store.keys.set(live.key, stored);
  return stored;
}

/** The letter gets its outcome, and its own id leads to the new record, also when that one came with another id (an edited payload). */
function requeue(engine: Engine, stored: StoredKey, id: string, record: StoredRecord): void {
  const known = stored.letters.get(id);
  assert(known !== undefined, `letter ${id} was looked at before it was settled`);
  const ts = new Date(engine.clock.now()).toISOString();
  const outcome = {
    kind: 'requeued',
    ts,
    position: positionAt(stored.epoch, record.offset),
  } as const;
  stored.letters.set(id, { ...known, letter: { ...known.letter, outcome } });
  const { eventId } = known.letter;
  const entry = eventId === undefined ? undefined : stored.ids.get(eventId);
  if (eventId !== undefined && entry !== undefined && entry.offset === known.offset)
    stored.ids.set(eventId, { ...entry, offset: record.offset, status: 'live' });
}
