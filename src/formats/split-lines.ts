import { concatBytes } from '#base';

/** One line of a file, framed by bytes (D14). */
export interface SourceLine {
  /** Without line break; of a line that is too long only its beginning. */
  readonly bytes: Uint8Array;
  /** 1 for the first. */
  readonly lineNumber: number;
  /** Where `bytes` begins in the source. */
  readonly byteOffset: number;
  /** Length of the whole line, without its line break. */
  readonly byteLength: number;
  /** With CR and line break: so far behind its begin the next line begins. */
  readonly totalLength: number;
  readonly isTooLong: boolean;
  /** False for a last line without a line break: it may have been cut off. */
  readonly isTerminated: boolean;
}

export interface SplitOptions {
  /** A longer line is counted and passed over. */
  readonly maxLineBytes: number;
}

/** What is kept of a line that is too long, to show where it was. */
const headBytesMax = 1024;
const newline = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark: Uint8Array = Uint8Array.of(0xef, 0xbb, 0xbf);

/** The line at hand; `parts` never holds more than the limit. */
interface OpenLine {
  parts: Uint8Array[];
  keptBytes: number;
  byteLength: number;
  isTooLong: boolean;
}

/**
 * Splits a stream at byte 0x0A and nowhere else (D14, ING-026): U+2028 and U+2029 stay in their line. A CR before the LF and a byte order mark at
 * the very start are taken off; nothing is decoded. Holds at most one line of `maxLineBytes` and one chunk.
 */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  options: SplitOptions,
): AsyncGenerator<SourceLine> {
  let line = openLine();
  let lineNumber = 1;
  let byteOffset = 0;
  for await (const chunk of withoutMark(source)) {
    byteOffset += chunk.skipped;
    const { bytes } = chunk;
    let from = 0;
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, from)) {
      add(line, bytes.subarray(from, at), options.maxLineBytes);
      yield close(line, { lineNumber, byteOffset, isTerminated: true }, options);
      byteOffset += line.byteLength + 1;
      lineNumber += 1;
      line = openLine();
      from = at + 1;
    }
    add(line, bytes.subarray(from), options.maxLineBytes);
  }
  if (line.byteLength > 0)
    yield close(line, { lineNumber, byteOffset, isTerminated: false }, options);
}

function openLine(): OpenLine {
  return { parts: [], keptBytes: 0, byteLength: 0, isTooLong: false };
}

function add(line: OpenLine, bytes: Uint8Array, maxLineBytes: number): void {
  line.byteLength += bytes.length;
  if (line.isTooLong || bytes.length === 0) return;
  line.parts.push(bytes);
  line.keptBytes += bytes.length;
  // One byte more may be the CR that is taken off.
  if (line.keptBytes <= maxLineBytes + 1) return;
  const head = Uint8Array.from(concatBytes(line.parts).subarray(0, headBytesMax));
  line.parts = [head];
  line.isTooLong = true;
}

function close(
  line: OpenLine,
  place: Pick<SourceLine, 'lineNumber' | 'byteOffset' | 'isTerminated'>,
  { maxLineBytes }: SplitOptions,
): SourceLine {
  const totalLength = line.byteLength + (place.isTerminated ? 1 : 0);
  const joined = concatBytes(line.parts.length === 0 ? [new Uint8Array()] : line.parts);
  const hasReturn = !line.isTooLong && joined.at(-1) === carriageReturn;
  const bytes = hasReturn ? joined.subarray(0, -1) : joined;
  if (!line.isTooLong && bytes.length <= maxLineBytes) {
    return { ...place, bytes, byteLength: bytes.length, totalLength, isTooLong: false };
  }
  const head = bytes.subarray(0, headBytesMax);
  return { ...place, bytes: head, byteLength: line.byteLength, totalLength, isTooLong: true };
}

/** The mark may come in pieces, so the first three bytes are waited for. */
async function* withoutMark(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly skipped: number }> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const chunk of source) {
    if (head === undefined) {
      yield { bytes: chunk, skipped: 0 };
      continue;
    }
    head = concatBytes([head, chunk]);
    if (head.length < byteOrderMark.length) continue;
    const hasMark = byteOrderMark.every((byte, at) => head?.[at] === byte);
    const skipped = hasMark ? byteOrderMark.length : 0;
    yield { bytes: head.subarray(skipped), skipped };
    head = undefined;
  }
  if (head !== undefined) yield { bytes: head, skipped: 0 };
}
