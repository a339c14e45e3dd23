import {
  assertRoom,
  draining,
  recordFraming,
  type AppendInput,
  type AppendOptions,
  type AppendOutcome,
  type KeyLoad,
} from '#queue';
import type { Key } from '#record';
import { judge, placeOf, type Stored, type Verdict } from './admission.ts';
import { appendFrame, countDuplicate, type PlacedRecord } from './append-frame.ts';
import { assertWriter, liveOf, type Engine } from './engine.ts';
import type { Flight, LiveKey } from './live-key.ts';
import { backlogBytes, endOf } from './stored-key.ts';

/** Each turn waits for one outcome on its way; a request whose ids keep changing for so long is told to come again. */
const turnsMax = 64;
const newline = 0x0a;
const lineBreakBytes = 1;

/** ING-113, ING-512…520 */
export async function append(
  engine: Engine,
  records: readonly AppendInput[],
  options: AppendOptions,
): Promise<readonly AppendOutcome[]> {
  assertWriter(engine);
  for (const [index, { raw }] of records.entries()) assertFraming(raw, index);
  if (records.length === 0) return [];
  const keys = [...new Set(records.map(({ key }) => key))];
  for (let turn = 0; turn < turnsMax; turn += 1) {
    const step = await underGuards(engine, keys, () => takeTurn(engine, records, options));
    if (step.waitFor === undefined) {
      await step.durable;
      return step.outcomes;
    }
    await orAborted(step.waitFor, options.signal);
  }
  throw draining({ what: 'a request whose ids keep changing' });
}

function assertFraming(raw: Uint8Array, index: number): void {
  const reason = framingFault(raw);
  if (reason !== undefined) throw recordFraming({ index, reason });
}

function framingFault(raw: Uint8Array): string | undefined {
  if (raw.length === 0) return 'it is empty';
  if (raw.includes(newline)) return 'it holds a line break';
  return raw[0] === 0x7b && raw.at(-1) === 0x7d ? undefined : 'it is not a JSON object';
}

type Turn =
  | {
      readonly waitFor?: undefined;
      readonly outcomes: readonly AppendOutcome[];
      readonly durable: Promise<void> | undefined;
    }
  | { readonly waitFor: Flight };

/** Look-up, choice of positions and hand-over are one synchronous step (ING-520). */
async function underGuards<T>(engine: Engine, keys: readonly Key[], step: () => T): Promise<T> {
  const atOnce = engine.locks.tryAll(keys, step);
  return atOnce === undefined
    ? engine.locks.withAll(keys, async () => step(), 'append')
    : atOnce.value;
}

function takeTurn(engine: Engine, records: readonly AppendInput[], options: AppendOptions): Turn {
  assertWriter(engine);
  const judgement = judge(records, (input) => liveOf(engine, input.key));
  if (judgement.waitFor !== undefined) return judgement;
  const { verdicts } = judgement;
  const isRefused = options.atomic === true && verdicts.some(isReject);
  const storable = isRefused ? [] : verdicts.filter((verdict) => verdict.kind === 'store');
  assertRoom(engine.limits, engine.store.backlogBytes + engine.inFlightBytes, loadsOf(storable));
  const placed = storable.map((verdict) => place(engine, verdict));
  const outcomes = outcomesOf(verdicts, placed);
  const duplicates = verdicts
    .filter((_, at) => outcomes[at]?.status === 'duplicate')
    .flatMap((verdict) => ('live' in verdict ? [verdict.live] : []));
  if (placed.length > 0)
    return { outcomes, durable: engine.line.hand(appendFrame(engine, placed, duplicates)) };
  for (const live of duplicates) countDuplicate(live);
  return { outcomes, durable: undefined };
}

function isReject({ kind }: Verdict): boolean {
  return kind === 'conflict' || kind === 'foreign';
}

function loadsOf(storable: readonly Stored[]): KeyLoad[] {
  const added = new Map<LiveKey, number>();
  for (const { live, input } of storable)
    added.set(live, (added.get(live) ?? 0) + input.raw.length + lineBreakBytes);
  return [...added].map(([live, addedBytes]) => {
    const { stored, key } = live;
    const inFlightBytes = live.nextOffset - (stored === undefined ? 0 : endOf(stored));
    const fault = stored?.quarantine?.code;
    return {
      key,
      addedBytes,
      backlogBytes: inFlightBytes + (stored === undefined ? 0 : backlogBytes(stored)),
      ...(fault === undefined ? {} : { quarantine: fault }),
    };
  });
}

function place(engine: Engine, verdict: Stored): PlacedRecord {
  const { live, input, settles } = verdict;
  const offset = live.nextOffset;
  live.nextOffset += input.raw.length + lineBreakBytes;
  engine.inFlightBytes += live.nextOffset - offset;
  return {
    verdict,
    live,
    input,
    settles,
    record: {
      offset,
      end: live.nextOffset,
      raw: Buffer.from(input.raw),
      acceptedMs: engine.clock.now(),
      eventId: input.eventId,
    },
  };
}

function outcomesOf(
  verdicts: readonly Verdict[],
  placed: readonly PlacedRecord[],
): readonly AppendOutcome[] {
  const offsets = new Map<Verdict | undefined, number>(
    placed.map(({ verdict, record }) => [verdict, record.offset]),
  );
  const at = (status: 'queued' | 'duplicate', live: LiveKey, offset?: number): AppendOutcome =>
    offset === undefined
      ? { status: 'refused' }
      : { status, epoch: live.epoch, position: placeOf(live, offset) };
  return verdicts.map((verdict): AppendOutcome => {
    if (verdict.kind === 'foreign') return { status: 'foreign', owner: verdict.owner };
    const { live } = verdict;
    if (verdict.kind === 'store') return at('queued', live, offsets.get(verdict));
    if (verdict.kind === 'conflict')
      return {
        status: 'conflict',
        position: placeOf(live, verdict.of),
        storedSha256: verdict.sha256,
      };
    const { of } = verdict;
    return at('duplicate', live, typeof of === 'number' ? of : offsets.get(verdicts[of.twin]));
  });
}

/** Gives up the wait alone; nothing of the request was handed over (ING-520). */
async function orAborted(flight: Flight, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return flight.settled;
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(draining({ what: 'the wait for an event id on its way' }));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await Promise.race([flight.settled, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
