import {
  type Clock,
  type MillraceError,
  type Timer,
  assert,
  isMillraceError,
  messageOf,
} from '#base';
import { describeDiskFault, failpoint, hasFailpoints } from '#disk';
import { queueWriteFailed } from '#queue';
import { journalFailed, journalSynced } from '#signals';
import { frameBytes, frameHeaderBytes, type FrameKind, frameKinds, sealFrame } from './frame.ts';
import { encodeAbandon } from './payloads.ts';
import { segmentHeaderBytes } from './segment.ts';
import type { OpenSegment, SegmentShelf } from './segment-shelf.ts';

/** One durable change on its way into the journal. Outcomes are told in order, each exactly once. */
export interface JournalEntry {
  readonly kind: FrameKind;
  readonly payloadBytes: number;
  readonly recordCount: number;
  /** Puts the payload into the group's buffer and returns its CRC where it knows it; what it keeps of the buffer stays valid. */
  write(buffer: Buffer, at: number): number | undefined;
  durable(sequence: number): void;
  failed(error: MillraceError): void;
}

export interface JournalOptions {
  readonly clock: Clock;
  readonly shelf: SegmentShelf;
  readonly tenure: number;
  /** The last sequence that recovery kept. */
  readonly lastSequence: number;
  readonly mark: number;
  /** False is for benches only and keeps no promise (ING-121). */
  readonly isSynced: boolean;
  /** Told before a group is handed to the disk; throws when we are no longer the writer (ING-236). */
  readonly assertWriter: () => void;
  /** Told between a group's sync and its outcome: a tenure that has been taken over tells nobody that anything is durable (ING-T45). */
  readonly assertStillWriter: () => void;
}

/** A group is at most this large, so that one write never starves the next group of its sync. */
const groupBytesMax = 8 * 1024 * 1024;
const healDelayMsFirst = 50;
const healDelayMsMax = 2_000;
/** A write and sync that takes this long is trouble of its own: a sound disk takes milliseconds, a busy one a second. */
const stallMsLeast = 10_000;

/** What clients are told: the kind of fault, not the path. */
function reasonOf(cause: unknown): string {
  return describeDiskFault(cause).what;
}

/**
 * The commit journal: one write and one sync in flight; the next group is what gathered meanwhile (QFS-02). A failed group fails as a whole,
 * with all that waits behind it; its segment is never written again, and the next one begins with an ABANDON that names it (QFS-03).
 */
export class Journal {
  readonly #options: JournalOptions;
  #queue: JournalEntry[] = [];
  #queuedBytes = 0;
  #isRunning = false;
  #isClosed = false;
  #current: OpenSegment | undefined;
  #durable: number;
  #mark: number;
  #blocked: { readonly error: MillraceError; readonly since: number } | undefined;
  #healDelayMs = healDelayMsFirst;
  #healTimer: Timer | undefined;
  #idleWaiters: (() => void)[] = [];
  #groupWaiters: (() => void)[] = [];
  /** Monotonic time at which the group that is on its way was begun. */
  #writingSince: number | undefined;
  #failuresInRow = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#durable = options.lastSequence;
    this.#mark = options.mark;
  }

  /** Highest sequence that is on disk. */
  get durableSequence(): number {
    return this.#durable;
  }

  get mark(): number {
    return this.#mark;
  }

  /** Bytes handed over and not yet synced. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Why nothing can be written now; undefined when well. A disk that does not answer counts: its callers wait, no more may join them. */
  get trouble(): { readonly error: MillraceError; readonly since: number } | undefined {
    return this.#blocked ?? this.#stall();
  }

  segments(): ReturnType<SegmentShelf['segments']> {
    return this.#options.shelf.segments();
  }

  /** Files with frames above the mark, and how many bytes of each hold durable ones. */
  extents(): ReturnType<SegmentShelf['extents']> {
    return this.#options.shelf.extents();
  }

  /** Bytes of all segments that the mark has not made redundant. */
  get bytesSinceMark(): number {
    return this.#options.shelf.bytesInUse;
  }

  /** Bytes of files that a checkpoint can let go. */
  get bytesToGain(): number {
    return this.#options.shelf.bytesToGain;
  }

  /** Hands an entry over; it is told its outcome later, in order. While the journal is blocked it fails at once. */
  submit(entry: JournalEntry): void {
    if (this.#blocked !== undefined) {
      entry.failed(this.#blocked.error);
      return;
    }
    assert(!this.#isClosed, 'the journal is closed');
    this.#queue.push(entry);
    this.#queuedBytes += frameBytes(entry.payloadBytes);
    if (!this.#isRunning) void this.#run();
  }

  /** Resolves when nothing is on its way. */
  settled(): Promise<void> {
    if (!this.#isRunning && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  /** Whether anything is on its way. */
  get isBusy(): boolean {
    return this.#isRunning || this.#queue.length > 0;
  }

  /** Resolves when the group that is on its way has been told its outcome: others may wait still. */
  groupEnded(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => {
      this.#groupWaiters.push(resolve);
    });
  }

  /** The frames up to `mark` are redundant: their segments may go (QFS-05, QFS-11). */
  async advanceMark(mark: number): Promise<void> {
    assert(mark <= this.#durable, `the mark ${mark} is not durable yet`);
    this.#mark = Math.max(this.#mark, mark);
    await this.#options.shelf.release(this.#mark, this.#current);
  }

  dropSpare(): Promise<void> {
    return this.#options.shelf.dropSpare();
  }

  async close(): Promise<void> {
    await this.settled();
    this.#isClosed = true;
    this.#healTimer?.cancel();
    await this.#options.shelf.close();
  }

  #stall(): { readonly error: MillraceError; readonly since: number } | undefined {
    if (this.#writingSince === undefined) return undefined;
    const { clock } = this.#options;
    const waitedMs = clock.monotonic() - this.#writingSince;
    if (waitedMs < stallMsLeast) return undefined;
    const seconds = Math.floor(waitedMs / 1000);
    const error = queueWriteFailed({
      reason: `the disk has not answered a write and sync for ${seconds} s`,
    });
    return { error, since: clock.now() - waitedMs };
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      // What comes in this turn of the event loop joins the group: without it the first request of a turn goes alone, and all others wait for its sync.
      await this.#options.clock.endOfTurn();
      const group = this.#takeGroup();
      try {
        await this.#writeGroup(group);
      } catch (error) {
        this.#fail(group, error);
      }
      for (const wake of this.#groupWaiters.splice(0)) wake();
    }
    this.#isRunning = false;
    for (const wake of this.#idleWaiters.splice(0)) wake();
  }

  #takeGroup(): JournalEntry[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#queue) {
      const size = frameBytes(entry.payloadBytes);
      if (count > 0 && bytes + size > groupBytesMax) break;
      bytes += size;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #writeGroup(group: readonly JournalEntry[]): Promise<void> {
    const began = this.#options.clock.monotonic();
    this.#writingSince = began;
    this.#options.assertWriter();
    await failpoint('journal:before-write');
    const bytes = group.reduce((sum, entry) => sum + frameBytes(entry.payloadBytes), 0);
    const segment = await this.#segmentFor(bytes);
    const first = this.#durable + 1;
    const buffer = this.#encode(group, segment, bytes, first);
    await this.#writeDurably(segment, buffer);
    this.#options.assertStillWriter();
    segment.end += bytes;
    segment.lastSequence = first + group.length - 1;
    this.#durable = segment.lastSequence;
    this.#healDelayMs = healDelayMsFirst;
    this.#failuresInRow = 0;
    this.#writingSince = undefined;
    this.#queuedBytes -= bytes;
    this.#options.shelf.prepare(segment);
    let records = 0;
    let sequence = first;
    for (const entry of group) {
      records += entry.recordCount;
      entry.durable(sequence);
      sequence += 1;
    }
    journalSynced.publish(() => ({
      frames: group.length,
      records,
      bytes,
      durationMs: this.#options.clock.monotonic() - began,
    }));
  }

  async #writeDurably({ file, end }: OpenSegment, buffer: Buffer): Promise<void> {
    const { isSynced } = this.#options;
    if (isSynced && file.writeDurablyAt !== undefined && !hasFailpoints()) {
      await file.writeDurablyAt([buffer], end);
      return;
    }
    await file.writeAt([buffer], end);
    await failpoint('journal:before-sync');
    if (isSynced) await file.sync();
    await failpoint('journal:after-sync');
  }

  #encode(
    group: readonly JournalEntry[],
    segment: OpenSegment,
    bytes: number,
    first: number,
  ): Buffer {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    let index = 0;
    for (const entry of group) {
      const payloadCrc = entry.write(buffer, at + frameHeaderBytes);
      const header = {
        kind: entry.kind,
        salt: segment.salt,
        sequence: first + index,
        tenure: this.#options.tenure,
        synced: this.#durable,
        groupIndex: index,
        groupCount: group.length,
      };
      sealFrame(buffer, at, entry.payloadBytes, header, payloadCrc);
      at += frameBytes(entry.payloadBytes);
      index += 1;
    }
    return buffer;
  }

  /** The current segment if the group fits, else the next one: begun, and with what it must say first. */
  async #segmentFor(bytes: number): Promise<OpenSegment> {
    const current = this.#current;
    if (current !== undefined && current.end + bytes <= current.size) return current;
    const next = await this.#options.shelf.begin(
      this.#durable + 1,
      this.#mark,
      bytes + segmentHeaderBytes,
    );
    this.#current = next;
    return next;
  }

  /** Fails the group and all that waits: positions go on from the last durable end. */
  #fail(group: readonly JournalEntry[], cause: unknown): void {
    const isFenced = isMillraceError(cause) && cause.disposition === 'fenced';
    const error = isFenced ? cause : queueWriteFailed({ reason: reasonOf(cause) }, cause);
    this.#writingSince = undefined;
    this.#failuresInRow += 1;
    const attempt = this.#failuresInRow;
    const segment = isFenced ? undefined : this.#current;
    journalFailed.publish(() => ({
      segment: segment?.name ?? 'none',
      code: error.code,
      message: `the journal cannot be written: ${messageOf(cause)}; appends get 503 until it can`,
      attempt,
    }));
    if (segment !== undefined) this.#options.shelf.poison(segment, this.#durable);
    this.#current = undefined;
    this.#blocked = { error, since: this.#blocked?.since ?? this.#options.clock.now() };
    const waiting = this.#queue.splice(0);
    this.#queuedBytes = 0;
    for (const entry of [...group, ...waiting]) entry.failed(error);
    // Who is no longer the writer never will be again.
    if (isFenced) return;
    this.#healTimer = this.#options.clock.after(this.#healDelayMs, () => void this.#heal());
    this.#healDelayMs = Math.min(this.#healDelayMs * 2, healDelayMsMax);
  }

  /** Tries a new segment; its first frame abandons every poisoned one that still exists. Repeats until it succeeds (QFS-31). */
  async #heal(): Promise<void> {
    const blocked = this.#blocked;
    if (blocked === undefined || this.#isClosed) return;
    this.#isRunning = true;
    let isWell = false;
    const entry: JournalEntry = {
      kind: frameKinds.abandon,
      recordCount: 0,
      ...encodeAbandon(this.#options.shelf.poisoned),
      durable: () => {
        isWell = true;
      },
      failed: () => undefined,
    };
    try {
      await this.#writeGroup([entry]);
    } catch (error) {
      this.#fail([entry], error);
    }
    if (isWell) {
      this.#queuedBytes = 0;
      this.#blocked = undefined;
    }
    this.#isRunning = false;
    for (const wake of this.#groupWaiters.splice(0)) wake();
    if (this.#queue.length > 0) void this.#run();
    else for (const wake of this.#idleWaiters.splice(0)) wake();
  }
}
