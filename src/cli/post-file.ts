import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { formatBytes, messageOf, type Clock } from '#base';
import { createTranslator, splitLines, type SourceLine } from '#formats';
import type { Client } from './client.ts';
import { inputUnreadable } from './errors.ts';
import { sendBatch, type SentBatch } from './post-batch.ts';
import type { Printer } from './print.ts';

export interface PostOptions {
  readonly workspace?: string | undefined;
  readonly session?: string | undefined;
  readonly clock: Clock;
  readonly printer: Printer;
  /** Told of each line that did not go in, at once: rejects are never gathered. */
  readonly onReject?: (reject: RejectedLine) => void;
}

/** A line that did not go in, with its place in the file; `bytes` is the line itself. */
export interface RejectedLine {
  readonly line: number;
  readonly offset: number;
  readonly code: string;
  readonly message: string;
  readonly bytes: Uint8Array;
}

export interface PostResult {
  readonly file: string;
  readonly lines: number;
  readonly bytes: number;
  readonly queued: number;
  readonly duplicates: number;
  /** Lines that carry no event: empty ones. */
  readonly skipped: number;
  readonly rejected: number;
}

/** A batch is sent when it has this many events or bytes: large enough to share a sync, small enough to repeat cheaply. */
const batchEventsMax = 500;
const batchBytesMax = 1024 * 1024;
/** The daemon's own limit of a record (QFS-32) plus room for the envelope; a longer line is a reject in bounded memory. */
const lineBytesMax = 17 * 1024 * 1024;

interface PendingEvent {
  readonly source: SourceLine;
  readonly body: string;
}

type Tally = { -readonly [K in keyof PostResult]: PostResult[K] };

/** Streams one file (`-` reads standard input) into the daemon, one batch in flight, so that the order of lines is the order of the log. */
export async function postFile(
  client: Client,
  path: string,
  options: PostOptions,
): Promise<PostResult> {
  const { workspace, session } = options;
  const translator = createTranslator({ workspace, session });
  const tally: Tally = {
    file: path,
    lines: 0,
    bytes: 0,
    queued: 0,
    duplicates: 0,
    skipped: 0,
    rejected: 0,
  };
  const reject = (source: SourceLine, code: string, message: string): void => {
    tally.rejected += 1;
    const { lineNumber: line, byteOffset: offset, bytes } = source;
    options.onReject?.({ line, offset, code, message, bytes });
  };
  let batch: PendingEvent[] = [];
  let batchBytes = 0;
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const bodies = batch.map(({ body }) => body);
    takeAnswer(tally, batch, await sendBatch(client, bodies, options), reject);
    batch = [];
    batchBytes = 0;
    const progress = `${tally.lines} lines, ${formatBytes(tally.bytes)}`;
    options.printer.progress(`  ${basename(path)}: ${progress}`);
  };
  for await (const source of readLines(path)) {
    tally.lines += 1;
    tally.bytes += source.bytes.byteLength + 1;
    const translated = source.isTooLong ? tooLong : translator.translate(source.bytes);
    if (translated.kind === 'skip') tally.skipped += 1;
    else if (translated.kind === 'reject') reject(source, translated.code, translated.message);
    else {
      batch.push({ source, body: translated.body });
      batchBytes += translated.body.length;
      if (batch.length >= batchEventsMax || batchBytes >= batchBytesMax) await flush();
    }
  }
  await flush();
  return tally;
}

const tooLong = {
  kind: 'reject',
  code: 'RECORD_TOO_LARGE',
  message: `the line is longer than ${formatBytes(lineBytesMax)}`,
} as const;

function takeAnswer(
  tally: Tally,
  batch: readonly PendingEvent[],
  sent: SentBatch,
  reject: (source: SourceLine, code: string, message: string) => void,
): void {
  tally.queued += sent.queued;
  tally.duplicates += sent.duplicates;
  for (const { index, code, message } of sent.rejects) {
    const source = batch[index]?.source;
    if (source !== undefined) reject(source, code, message);
  }
}

async function* readLines(path: string): AsyncGenerator<SourceLine> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  try {
    yield* splitLines(stream as AsyncIterable<Uint8Array>, { maxLineBytes: lineBytesMax });
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw inputUnreadable({ path, reason: messageOf(error) }, error);
    throw error;
  }
}
