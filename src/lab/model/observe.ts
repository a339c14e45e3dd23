import { canonicalJson, isMillraceError, type JsonValue } from '#base';
import type { DeadLetterRecord } from '#queue';
import type { Position } from '#record';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { demand, demandEqual } from '../demand.ts';
import { labKey } from '../records.ts';
import { numberOf } from './events.ts';
import type { Reference } from './reference.ts';
import { currentCursor } from './slow-worker.ts';

interface Waiting {
  readonly n: number;
  readonly at: Position;
}

interface Seen {
  readonly committed: Position | undefined;
  readonly pending: readonly Waiting[];
  readonly letters: readonly DeadLetterRecord[];
}

const all = { records: 1_000_000, bytes: 2 ** 30 };

/** What a queue shows of every session: for what a crash left open, and for the comparison with the model. */
export class Observed {
  readonly #seen: ReadonlyMap<string, Seen>;
  readonly #reference: Reference;

  private constructor(seen: ReadonlyMap<string, Seen>, reference: Reference) {
    this.#seen = seen;
    this.#reference = reference;
  }

  static async of(
    queue: FilesystemQueue,
    reference: Reference,
    sessions: readonly string[],
  ): Promise<Observed> {
    const seen = new Map<string, Seen>();
    for (const session of sessions) {
      const key = labKey(session);
      const status = await queue.keyStatus(key);
      const { items } = await queue.readBatch(key, all);
      seen.set(session, {
        committed: status?.committed,
        pending: items.map(({ raw, at }) => ({ n: numberOf(raw), at })),
        letters: await queue.readDeadLetters(key),
      });
    }
    return new Observed(seen, reference);
  }

  pending(session: string): readonly Waiting[] {
    return this.#seen.get(session)?.pending ?? [];
  }

  /** Where a record stands that the model does not know to be there. */
  unknownPosition(record: {
    readonly session: string;
    readonly raw: Uint8Array;
  }): Position | undefined {
    const n = numberOf(record.raw);
    const known = new Set(this.#reference.log(record.session).map(({ position }) => position));
    return this.pending(record.session).find((one) => one.n === n && !known.has(one.at))?.at;
  }

  /** Whether the committed position lies behind the record at `at`. */
  isPassed(session: string, at: Position): boolean {
    const committed = this.#seen.get(session)?.committed;
    return committed !== undefined && committed > at;
  }

  outcome(session: string, at: Position): DeadLetterRecord['outcome']['kind'] | undefined {
    return this.#seen.get(session)?.letters.find((letter) => letter.at === at)?.outcome.kind;
  }
}

/** The books alone, as they are looked at after every command (P4, ING-P09). */
export function compareBooks(queue: FilesystemQueue, reference: Reference): void {
  const { accepted, applied, pending, dead, discarded, quarantinedKeys } = queue.totals();
  demandEqual(
    { accepted, applied, pending, dead, discarded },
    reference.totals(),
    'the books of the root are those of the model',
  );
  demandEqual(quarantinedKeys, 0, 'nothing is quarantined');
}

/** Offset and cursor belong together at every instant, also after a commit that failed (P3). */
export async function compareCursor(
  queue: FilesystemQueue,
  reference: Reference,
  session: string,
): Promise<void> {
  const cursor = await currentCursor(queue, session).catch((error: unknown) => {
    if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
    return undefined;
  });
  // The disk is in trouble; the cursor is looked at again later.
  if (cursor === undefined) return;
  demand(
    sameJson(cursor, reference.cursor(session)),
    `the cursor of ${session} is that of its position`,
    cursor,
  );
}

const outcomeOf = {
  dead: 'live',
  requeued: 'requeued',
  discarded: 'discarded',
} as const;

/** Everything that can be asked of a queue is what the model says (P1 to P4). */
export async function compare(queue: FilesystemQueue, reference: Reference): Promise<void> {
  compareBooks(queue, reference);
  const observed = await Observed.of(queue, reference, reference.sessions);
  for (const session of reference.sessions) {
    const status = await queue.keyStatus(labKey(session));
    demand(status !== undefined, 'a key with records is known', session);
    const { accepted, applied, pending, dead, discarded } = status;
    demandEqual(
      { accepted, applied, pending, dead, discarded },
      reference.totals([session]),
      `the books of ${session} are those of the model`,
    );
    demandEqual(
      observed.pending(session),
      reference.all(session, 'pending').map(({ n, position }) => ({ n, at: position })),
      `the records of ${session} that wait are those of the model, at their positions`,
    );
    await compareCursor(queue, reference, session);
    const expected = reference
      .log(session)
      .flatMap(({ position, fate }) =>
        fate in outcomeOf ? [`${position} ${outcomeOf[fate as keyof typeof outcomeOf]}`] : [],
      );
    const letters = await queue.readDeadLetters(labKey(session));
    demandEqual(
      letters.map(({ at, outcome }) => `${at} ${outcome.kind}`).toSorted(),
      expected.toSorted(),
      `the dead letters of ${session} are those of the model, once each`,
    );
  }
}

function sameJson(a: unknown, b: unknown): boolean {
  const text = (value: unknown): string =>
    canonicalJson(JSON.parse(JSON.stringify(value)) as JsonValue);
  return text(a) === text(b);
}
