import { platformCode, type RecordingDisk } from '#disk';
import { emptyCursor, type Cursor, type Key, type Position } from '#record';
import { compactionRefused } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { labKey, labRecord } from './records.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** One record of a history's request; `n` names it for ever. */
export interface Sent {
  readonly n: number;
  readonly session: string;
  readonly eventId?: string;
  readonly settles?: string;
  /** Bytes of filling, so that a few records fill a segment. */
  readonly padding?: number;
}

export interface Request {
  readonly sent: readonly Sent[];
}

export interface Placed {
  readonly n: number;
  readonly session: string;
  readonly position: Position;
}

/** What a history says between the disk's steps: what it asked for, and what it was told. */
export type Word =
  | { readonly kind: 'append-began'; readonly request: Request }
  | { readonly kind: 'append-acked'; readonly request: Request; readonly placed: readonly Placed[] }
  | { readonly kind: 'append-failed'; readonly request: Request }
  | { readonly kind: 'commit-began'; readonly key: Key; readonly after: Position }
  | { readonly kind: 'commit-acked'; readonly key: Key; readonly after: Position }
  /** Of a record that became a dead letter, beside the words of its commit. */
  | { readonly kind: 'buried'; readonly key: Key; readonly at: Position };

export const wordLabel = 'history';

/** A scripted life of a queue over a recording disk; every acknowledgement is marked between the disk's steps. */
export class History {
  readonly queue: FilesystemQueue;
  readonly #disk: RecordingDisk;
  readonly #clock: SimulatedClock;
  readonly #applied = new Map<string, number>();
  #failures = 0;

  constructor(queue: FilesystemQueue, disk: RecordingDisk, clock: SimulatedClock) {
    this.queue = queue;
    this.#disk = disk;
    this.#clock = clock;
  }

  get failures(): number {
    return this.#failures;
  }

  say(word: Word): void {
    this.#disk.mark(wordLabel, word);
  }

  /** Sends one request; one that fails is noted and does not end the history. */
  async append(...sent: readonly Sent[]): Promise<readonly Placed[]> {
    const request: Request = { sent };
    this.say({ kind: 'append-began', request });
    try {
      const outcomes = await this.queue.append(sent.map(recordOf));
      const placed = sent.flatMap(({ n, session }, at) => {
        const outcome = outcomes[at];
        return outcome?.status === 'queued' ? [{ n, session, position: outcome.position }] : [];
      });
      this.say({ kind: 'append-acked', request, placed });
      return placed;
    } catch (error) {
      if (!isRetry(error)) throw error;
      this.#failures += 1;
      this.say({ kind: 'append-failed', request });
      return [];
    }
  }

  /** Applies and commits up to `records` of a session's records. */
  async drain(session: string, records: number): Promise<void> {
    await this.#tolerate(() => this.#drain(session, records, false));
  }

  /** Applies all that waits, the end of the session with it, and ends the epoch. */
  async end(session: string): Promise<void> {
    await this.#tolerate(() => this.#drain(session, 1000, true));
    await this.#tolerate(async () => {
      await this.queue.lifeCycle.finalize(labKey(session));
    });
  }

  /** Removes what is committed from a session's log, if there is anything. */
  async compact(session: string): Promise<void> {
    await this.#tolerate(async () => {
      try {
        await this.queue.lifeCycle.compactCommittedPrefix(labKey(session), 1);
      } catch (error) {
        if (!compactionRefused.is(error)) throw error;
      }
    });
  }

  async #drain(session: string, records: number, isEnd: boolean): Promise<void> {
    const key = labKey(session);
    const { items } = await this.queue.readBatch(key, { records, bytes: 2 ** 20 });
    const last = items.at(-1);
    if (last === undefined) return;
    const applied = (this.#applied.get(session) ?? 0) + items.length;
    await this.#commit(key, last.after, async () => {
      const cursor = { ...cursorAt(applied), terminal_seen: isEnd };
      await this.queue.commit(key, last.after, cursor, null);
      this.#applied.set(session, applied);
    });
  }

  /** The next record of a session becomes a dead letter; returns the letter's id, undefined when there is none. */
  async bury(session: string): Promise<string | undefined> {
    let letter: string | undefined;
    await this.#tolerate(async () => {
      letter = await this.#bury(session);
    });
    return letter;
  }

  async #bury(session: string): Promise<string | undefined> {
    const key = labKey(session);
    const { items } = await this.queue.readBatch(key, { records: 1, bytes: 2 ** 20 });
    const [item] = items;
    if (item === undefined) return undefined;
    const letter = {
      at: item.at,
      raw: item.raw,
      attempts: 3,
      error: { code: 'EVENT_CONTRADICTS', message: 'it contradicts itself' },
    };
    const cursor = cursorAt(this.#applied.get(session) ?? 0);
    await this.#commit(key, item.after, () =>
      this.queue.deadLetter(key, [letter], item.after, cursor),
    );
    this.say({ kind: 'buried', key, at: item.at });
    return (await this.queue.readDeadLetters(key)).at(-1)?.id;
  }

  async discard(session: string, letter: string | undefined): Promise<void> {
    await this.#tolerate(async () => {
      const key = labKey(session);
      const status = await this.queue.keyStatus(key);
      if (status === undefined || letter === undefined) return;
      const cursor = (await this.queue.readCursor(key)) ?? emptyCursor();
      const letters = [{ discarded: letter, by: 'operator' }];
      await this.queue.deadLetter(key, letters, status.committed, cursor);
    });
  }

  /** A checkpoint that fails leaves the frames where they are. */
  async checkpoint(): Promise<void> {
    try {
      await this.queue.checkpoint();
    } catch (error) {
      if (!isRetry(error) && platformCode(error) === undefined) throw error;
      this.#failures += 1;
    }
  }

  /** Lets the session files be filled. */
  tick(): Promise<void> {
    return this.#clock.advance(250);
  }

  /** Goes on from what the queue holds: a later life of the same root. */
  async goOn(sessions: readonly string[]): Promise<void> {
    for (const session of sessions) {
      const cursor = await this.queue.readCursor(labKey(session));
      this.#applied.set(session, cursor?.layer1.event_seq ?? 0);
    }
  }

  async #commit(key: Key, after: Position, act: () => Promise<void>): Promise<void> {
    this.say({ kind: 'commit-began', key, after });
    await act();
    this.say({ kind: 'commit-acked', key, after });
  }

  async #tolerate(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!isRetry(error)) throw error;
      this.#failures += 1;
    }
  }
}

function isRetry(error: unknown): boolean {
  return error instanceof Error && 'disposition' in error && error.disposition === 'retry';
}

function recordOf({
  n,
  session,
  eventId,
  settles,
  padding = 0,
}: Sent): ReturnType<typeof labRecord> {
  return labRecord({
    session,
    data: { n, padding: 'x'.repeat(padding) },
    ...(eventId === undefined ? {} : { eventId }),
    ...(settles === undefined ? {} : { settles }),
  });
}

/** A cursor that says how many records of its key were applied. */
export function cursorAt(applied: number): Cursor {
  const empty = emptyCursor();
  return { ...empty, layer1: { ...empty.layer1, event_seq: applied } };
}

/** Appends of several keys, commits, a dead letter and its ways out, checkpoints, and enough bytes to roll segments. */
export async function eventfulLife(history: History): Promise<void> {
  await history.append({ n: 1, session: 'a', eventId: 'e1' }, { n: 2, session: 'b' });
  await Promise.all([
    history.append({ n: 3, session: 'a', eventId: 'e3' }),
    history.append({ n: 4, session: 'b', eventId: 'e4' }, { n: 5, session: 'c' }),
    history.append({ n: 6, session: 'a' }),
  ]);
  await history.drain('a', 2);
  await history.tick();
  await history.checkpoint();
  const dead = await history.bury('a');
  await history.append({ n: 7, session: 'b', padding: 1500 });
  await Promise.all([history.drain('b', 2), history.append({ n: 8, session: 'c', padding: 1500 })]);
  if (dead !== undefined)
    await history.append({ n: 9, session: 'a', eventId: 'requeue', settles: dead });
  await history.checkpoint();
  await history.append({ n: 10, session: 'd', padding: 2000 }, { n: 11, session: 'a' });
  await history.tick();
  const second = await history.bury('c');
  await history.discard('c', second);
  await history.drain('a', 5);
  await history.append({ n: 12, session: 'b', eventId: 'e12', padding: 2500 });
}

/** Sessions that end and come back, with letters that are settled late, and logs that are compacted with and without a rest. */
export async function endingLife(history: History): Promise<void> {
  await history.append({ n: 1, session: 'a', eventId: 'e1' }, { n: 2, session: 'a' });
  await history.append({ n: 3, session: 'b', eventId: 'e3', padding: 600 });
  await history.drain('a', 1);
  await history.compact('a');
  await history.append({ n: 4, session: 'a', eventId: 'e4' });
  await history.end('a');
  await history.append({ n: 5, session: 'a', eventId: 'e5' });
  const retired = await history.bury('b');
  await Promise.all([history.append({ n: 6, session: 'b', eventId: 'e6' }), history.tick()]);
  await history.end('b');
  await history.append({ n: 7, session: 'c', eventId: 'e7', padding: 900 }, { n: 8, session: 'a' });
  await history.checkpoint();
  await history.drain('c', 5);
  await history.compact('c');
  await history.append({ n: 9, session: 'c', eventId: 'e9', padding: 900 });
  await history.end('a');
  if (retired !== undefined)
    await history.append({ n: 10, session: 'b', eventId: 'e3', padding: 600, settles: retired });
  const late = await buryAndEnd(history);
  await history.drain('b', 1);
  await history.checkpoint();
  await history.discard('d', late);
  await history.append({ n: 13, session: 'c', eventId: 'e13', padding: 900 });
  await history.drain('c', 1);
  await history.compact('c');
  await history.append({ n: 14, session: 'a', eventId: 'e14', padding: 900 });
  await history.checkpoint();
}

/** A session that leaves a dead letter behind; its id. */
async function buryAndEnd(history: History): Promise<string | undefined> {
  await history.append({ n: 11, session: 'd' }, { n: 12, session: 'd', eventId: 'e12' });
  const letter = await history.bury('d');
  await history.end('d');
  return letter;
}

/** A second life of the same root: a little more of everything, and a checkpoint that lets old frames go. */
export async function lateLife(history: History): Promise<void> {
  await history.goOn(['a', 'b', 'c', 'd']);
  await history.append({ n: 101, session: 'a' }, { n: 102, session: 'e', eventId: 'late' });
  await history.drain('a', 1);
  await history.checkpoint();
  await history.append({ n: 103, session: 'b' });
}
