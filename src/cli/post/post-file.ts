import { createReadStream, fstatSync, openSync, type Stats } from 'node:fs';
import { basename, resolve } from 'node:path';
import { formatBytes, messageOf, type Clock } from '#base';
import {
  createFileTranslator,
  joinDocument,
  splitLines,
  type FormatName,
  type LineOutcome,
  type SourceLine,
} from '#formats';
import type { Client } from '../client.ts';
import { inputUnreadable } from '../errors.ts';
import { sendBatch, type SentBatch } from './post-batch.ts';
import type { Printer } from '../print.ts';

export interface PostOptions {
  readonly workspace?: string | undefined;
  readonly session?: string | undefined;
  /** Takes every line as this format. */
  readonly format?: FormatName | undefined;
  /** The daemon's limit of one event; a longer line is a reject, and is never held in memory. */
  readonly lineBytesMax?: number | undefined;
  readonly clock: Clock;
  readonly printer: Printer;
  /** Told of each line that did not go in, at once: rejects are never gathered. */
  readonly onReject?: (reject: RejectedLine) => void;
}

/** A line that did not go in, with its place in the file. */
export interface RejectedLine {
  readonly line: number;
  readonly offset: number;
  /** Of the whole line, in bytes. */
  readonly length: number;
  readonly code: string;
  readonly message: string;
  /** The line itself; of one that is too long its beginning. */
  readonly bytes: Uint8Array;
}

export interface PostResult {
  readonly file: string;
  readonly lines: number;
  readonly bytes: number;
  /** Lines of each format. */
  readonly formats: Readonly<Partial<Record<FormatName, number>>>;
  /** Events that the lines gave, before the daemon judged them. */
  readonly events: number;
  readonly queued: number;
  readonly duplicates: number;
  /** Lines that carry no event: empty ones. */
  readonly skipped: number;
  /** Lines of which something did not go in. */
  readonly rejected: number;
}

/** A batch is sent when it has this many events or bytes: large enough to share a sync, small enough to repeat cheaply. */
const batchEventsMax = 1000;
const batchBytesMax = 1024 * 1024;
/** `ingest.max_event_bytes` as it is unless an operator changed it (QFS-32). */
const lineBytesMaxDefault = 16 * 1024 * 1024;

interface PendingEvent {
  readonly source: SourceLine;
  readonly body: string;
}

type Tally = { -readonly [K in keyof PostResult]: PostResult[K] };

/**
 * Streams one file (`-` reads standard input) into the daemon, one batch in flight, so that the order of lines is the order of the log; the next
 * is read and translated meanwhile.
 */
export async function postFile(
  client: Client,
  path: string,
  options: PostOptions,
): Promise<PostResult> {
  return new FilePost(client, path, options).run();
}

class FilePost {
  readonly #client: Client;
  readonly #path: string;
  readonly #options: PostOptions;
  readonly #tally: Tally;
  #batch: PendingEvent[] = [];
  #batchBytes = 0;
  /** A line is told once, however many of its events are refused. */
  readonly #rejected = new WeakSet<SourceLine>();
  #size = 0;
  /** The batch that is on its way. Never rejects: whoever waits for it next finds what went wrong. */
  #onItsWay: Promise<{ readonly failure?: unknown }> = Promise.resolve({});

  constructor(client: Client, path: string, options: PostOptions) {
    this.#client = client;
    this.#path = path;
    this.#options = options;
    this.#tally = {
      file: path,
      lines: 0,
      bytes: 0,
      formats: {},
      events: 0,
      queued: 0,
      duplicates: 0,
      skipped: 0,
      rejected: 0,
    };
  }

  async run(): Promise<PostResult> {
    const { workspace, session, format, clock } = this.#options;
    const isFile = this.#path !== '-';
    const { stream, stats } = isFile
      ? openInput(this.#path)
      : { stream: process.stdin, stats: undefined };
    this.#size = stats?.size ?? 0;
    const time = new Date(
      stats === undefined ? clock.now() : Math.floor(stats.mtimeMs),
    ).toISOString();
    const path = isFile ? resolve(this.#path) : undefined;
    const translator = createFileTranslator({
      defaults: { workspace, session, path, time },
      format,
    });
    const maxLineBytes = this.#options.lineBytesMax ?? lineBytesMaxDefault;
    for await (const source of readLines(stream, this.#path, maxLineBytes)) {
      this.#tally.lines += 1;
      this.#tally.bytes += source.byteLength + 1;
      if (source.isTooLong) this.#reject(source, 'RECORD_TOO_LARGE', tooLong(source, maxLineBytes));
      else await this.#take(translator.translate(source));
    }
    await this.#take(translator.end());
    await this.#flush();
    await this.#arrival();
    return this.#tally;
  }

  async #take(outcomes: readonly LineOutcome[]): Promise<void> {
    for (const { source, format, bodies, reject } of outcomes) {
      if (format !== undefined) {
        const { formats } = this.#tally;
        this.#tally.formats = { ...formats, [format]: (formats[format] ?? 0) + 1 };
      }
      if (reject !== undefined)
        this.#reject(source, reject.code, `${reject.message}${tornNote(source)}`);
      else if (bodies.length === 0) this.#tally.skipped += 1;
      for (const body of bodies) {
        this.#tally.events += 1;
        this.#batch.push({ source, body });
        this.#batchBytes += body.length;
        if (this.#batch.length >= batchEventsMax || this.#batchBytes >= batchBytesMax)
          await this.#flush();
      }
    }
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#batchBytes = 0;
    await this.#arrival();
    this.#onItsWay = this.#send(batch).then(
      () => ({}),
      (failure: unknown) => ({ failure }),
    );
  }

  async #arrival(): Promise<void> {
    const outcome = await this.#onItsWay;
    if ('failure' in outcome) throw outcome.failure;
  }

  async #send(batch: readonly PendingEvent[]): Promise<void> {
    const { lines, bytes } = this.#tally;
    const bodies = batch.map(({ body }) => body);
    this.#takeAnswer(batch, await sendBatch(this.#client, bodies, this.#options));
    const of = this.#size > 0 ? ` of ${formatBytes(this.#size)}` : '';
    this.#options.printer.progress(
      `  ${basename(this.#path)}: ${lines === 1 ? '1 line' : `${lines} lines`}, ${formatBytes(bytes)}${of}`,
    );
  }

  #takeAnswer(batch: readonly PendingEvent[], sent: SentBatch): void {
    this.#tally.queued += sent.queued;
    this.#tally.duplicates += sent.duplicates;
    for (const { index, code, message } of sent.rejects) {
      const source = batch[index]?.source;
      if (source !== undefined) this.#reject(source, code, message);
    }
  }

  #reject(source: SourceLine, code: string, message: string): void {
    const { lineNumber: line, byteOffset: offset, byteLength: length, bytes } = source;
    if (this.#rejected.has(source)) return;
    this.#rejected.add(source);
    this.#tally.rejected += 1;
    this.#options.onReject?.({ line, offset, length, code, message, bytes });
  }
}

function tooLong({ byteLength }: SourceLine, maxLineBytes: number): string {
  return `the line has ${byteLength} bytes; ingest.max_event_bytes is ${formatBytes(maxLineBytes)}`;
}

function tornNote({ isTerminated }: SourceLine): string {
  return isTerminated ? '' : '; the file ends within this line: post it again when it is whole';
}

function openInput(path: string): {
  readonly stream: AsyncIterable<unknown>;
  readonly stats: Stats;
} {
  try {
    const fd = openSync(path, 'r');
    return { stream: createReadStream(path, { fd }), stats: fstatSync(fd) };
  } catch (error) {
    throw inputUnreadable({ path, reason: messageOf(error) }, error);
  }
}

async function* readLines(
  stream: AsyncIterable<unknown>,
  path: string,
  maxLineBytes: number,
): AsyncGenerator<SourceLine> {
  try {
    const lines = splitLines(stream as AsyncIterable<Uint8Array>, { maxLineBytes });
    yield* joinDocument(lines, { maxLineBytes });
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw inputUnreadable({ path, reason: messageOf(error) }, error);
    throw error;
  }
}
