import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { JsonInvalid, parseJson, sha256Hex } from '#base';
import { createFileTranslator, splitLines, type FileTranslator, type SourceLine } from '#formats';
import type { Client } from '../client.ts';
import { sendBatch } from '../post/post-batch.ts';
import type { PostOptions, RejectedLine } from '../post/post-file.ts';
import type { WatchedFile } from './watch-files.ts';
import type { FollowState, WatchStates } from './watch-state.ts';

/** What one look at a file brought. */
export interface Followed {
  readonly lines: number;
  readonly queued: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** It was read from its begin, because it is another file than the one that was read before. */
  readonly isAnew: boolean;
}

export interface FollowOptions extends Omit<PostOptions, 'onReject'> {
  readonly states: WatchStates;
  readonly onReject: (file: string, reject: RejectedLine) => void;
}

/** So many first bytes tell whether a name still means the same file. */
const headBytesMax = 1024;
/** A batch is sent at the end of the line that fills it, so that what was sent always ends with a line. */
const batchEventsMax = 500;
const batchBytesMax = 1024 * 1024;
const lineBytesMaxDefault = 16 * 1024 * 1024;

/**
 * Sends what a file has grown by since the last look, and remembers how far it came: what was sent is never read again, but for the first bytes
 * that tell whether it is still the same file. A shorter or another file under the name is read from its begin; ids keep its events apart from
 * what is known. A last line without an end waits until it is whole.
 */
export async function followFile(
  client: Client,
  file: WatchedFile,
  options: FollowOptions,
): Promise<Followed> {
  return new Follow(client, file, options).run();
}

/** Whether a look at the file can bring anything. */
export function hasNews(file: WatchedFile, state: FollowState | undefined): boolean {
  return state === undefined || state.inode !== file.inode || state.offset !== file.size;
}

class Follow {
  readonly #client: Client;
  readonly #file: WatchedFile;
  readonly #options: FollowOptions;
  readonly #tally = { lines: 0, queued: 0, duplicates: 0, rejected: 0, isAnew: false };
  #batch: { readonly source: SourceLine; readonly body: string }[] = [];
  #batchBytes = 0;
  #lastRejected = 0;
  #savedOffset: number | undefined;

  constructor(client: Client, file: WatchedFile, options: FollowOptions) {
    this.#client = client;
    this.#file = file;
    this.#options = options;
  }

  async run(): Promise<Followed> {
    const { path } = this.#file;
    const known = this.#options.states.load(path);
    const isSame = known !== undefined && isSameFile(this.#file, known);
    this.#tally.isAnew = known !== undefined && !isSame;
    const from = isSame ? known : this.#begin();
    this.#savedOffset = isSame ? known.offset : undefined;
    const {
      workspace,
      session,
      format,
      lineBytesMax: maxLineBytes = lineBytesMaxDefault,
    } = this.#options;
    const defaults = { workspace, session, path, time: from.time };
    const translator = createFileTranslator({ defaults, format, state: from.translator });
    const stream = createReadStream(path, { start: from.offset });
    let at = { offset: from.offset, lines: from.lines };
    for await (const line of splitLines(stream as AsyncIterable<Uint8Array>, { maxLineBytes })) {
      if (!line.isTerminated && !isWhole(line)) break;
      const source = {
        ...line,
        lineNumber: from.lines + line.lineNumber,
        byteOffset: from.offset + line.byteOffset,
      };
      this.#take(translator, source);
      at = { offset: endOf(from, line), lines: source.lineNumber };
      if (this.#batch.length >= batchEventsMax || this.#batchBytes >= batchBytesMax)
        await this.#checkpoint(translator, from, at);
    }
    await this.#checkpoint(translator, from, at);
    return this.#tally;
  }

  #begin(): FollowState {
    const { path, inode, mtimeMs } = this.#file;
    const time = new Date(mtimeMs).toISOString();
    const none = { head: sha256Hex(new Uint8Array()), headBytes: 0 };
    return {
      version: 1,
      path,
      inode,
      offset: 0,
      lines: 0,
      ...none,
      time,
      translator: { version: 1 },
    };
  }

  #take(translator: FileTranslator, source: SourceLine): void {
    this.#tally.lines += 1;
    if (source.isTooLong)
      this.#reject(source, 'RECORD_TOO_LARGE', `the line has ${source.byteLength} bytes`);
    else this.#gather(translator.translate(source));
  }

  #gather(outcomes: ReturnType<FileTranslator['translate']>): void {
    for (const { source, bodies, reject } of outcomes) {
      if (reject !== undefined) this.#reject(source, reject.code, reject.message);
      for (const body of bodies) {
        this.#batch.push({ source, body });
        this.#batchBytes += body.length;
      }
    }
  }

  /** Everything up to `at` is sent, then remembered: a crash in between sends it again, which adds nothing. */
  async #checkpoint(
    translator: FileTranslator,
    from: FollowState,
    at: Pick<FollowState, 'offset' | 'lines'>,
  ): Promise<void> {
    this.#gather(translator.end());
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    if (batch.length > 0) {
      const sent = await sendBatch(
        this.#client,
        batch.map(({ body }) => body),
        this.#options,
      );
      this.#tally.queued += sent.queued;
      this.#tally.duplicates += sent.duplicates;
      for (const { index, code, message } of sent.rejects) {
        const source = batch[index]?.source;
        if (source !== undefined) this.#reject(source, code, message);
      }
    }
    const isFurther = at.offset !== this.#savedOffset;
    if (!isFurther) return;
    this.#savedOffset = at.offset;
    const headBytes = Math.min(headBytesMax, at.offset);
    const head = headOf(this.#file.path, headBytes);
    const { inode } = this.#file;
    this.#options.states.save({
      ...from,
      ...at,
      inode,
      head,
      headBytes,
      translator: translator.state(),
    });
  }

  #reject(source: SourceLine, code: string, message: string): void {
    const { lineNumber: line, byteOffset: offset, byteLength: length, bytes } = source;
    if (line === this.#lastRejected) return;
    this.#lastRejected = line;
    this.#tally.rejected += 1;
    this.#options.onReject(this.#file.path, { line, offset, length, code, message, bytes });
  }
}

function isSameFile({ path, inode, size }: WatchedFile, known: FollowState): boolean {
  return (
    inode === known.inode && size >= known.offset && headOf(path, known.headBytes) === known.head
  );
}

function headOf(path: string, count: number): string {
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(count);
    const read = readSync(fd, buffer, 0, count, 0);
    return sha256Hex(buffer.subarray(0, read));
  } finally {
    closeSync(fd);
  }
}

/** One past the line's break; the lengths of lines leave out a CR and a byte order mark. */
function endOf(from: FollowState, line: SourceLine): number {
  return from.offset + line.byteOffset + line.totalLength;
}

/** A last line that is JSON as it stands is not cut off; its line break may come later. */
function isWhole({ bytes, isTooLong }: SourceLine): boolean {
  if (isTooLong || bytes.at(-1) !== 0x7d) return false;
  try {
    parseJson(bytes);
    return true;
  } catch (error) {
    if (error instanceof JsonInvalid) return false;
    throw error;
  }
}
