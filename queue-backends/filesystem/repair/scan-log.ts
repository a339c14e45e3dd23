import type { KeyState } from '../session/key-state.ts';
import { stretchesOf } from '../session/read-lines.ts';
import { recordOfTail } from '../session/read-record.ts';
import type { SessionFiles } from '../session/session-files.ts';
import { readStored } from '../session/stored-line.ts';

/** A piece of a log, in logical offsets: a sound record, or bytes that are none. */
export type LogPiece =
  | {
      readonly kind: 'record';
      readonly offset: number;
      readonly end: number;
      readonly raw: Uint8Array;
    }
  | { readonly kind: 'damage'; readonly offset: number; readonly end: number };

const chunkBytes = 256 * 1024;
/** Far above the largest record: what is longer without a line break is damage, and is not held in memory. */
const lineBytesMax = 64 * 1024 * 1024;
const newline = 0x0a;
/** How every line begins that admission builds: where a record may stand behind bytes that swallowed its line break. */
const lineStart = Buffer.from('{"v":1,', 'latin1');

/**
 * Everything between two offsets, damage too, neighbours joined; what was passed over is left out. Behind damage it goes on at the next record that
 * proves itself by its checksum, also when no line break stands before it (SC-001, SC-002). A log that ends early is damage up to `to`.
 */
export async function* scanLog(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<LogPiece> {
  for (const [start, end] of stretchesOf(state, from, to)) {
    let bad: { readonly offset: number; end: number } | undefined;
    for await (const piece of piecesIn(files, state, start, end)) {
      if (piece.kind === 'damage') {
        if (bad === undefined) bad = { offset: piece.offset, end: piece.end };
        else bad.end = piece.end;
        continue;
      }
      if (bad !== undefined) yield { kind: 'damage', ...bad };
      bad = undefined;
      yield piece;
    }
    if (bad !== undefined) yield { kind: 'damage', ...bad };
  }
}

/** The same, and on from memory what the log does not hold yet. */
export async function* scanAhead(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<LogPiece> {
  const fileEnd = Math.min(to, state.filledTo);
  yield* scanLog(files, state, from, fileEnd);
  for (const line of state.tail) {
    const { offset, bytes } = line;
    if (offset < Math.max(from, fileEnd) || offset >= to) continue;
    yield { kind: 'record', offset, end: offset + bytes.length, raw: recordOfTail(state, line) };
  }
}

async function* piecesIn(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<LogPiece> {
  let size = chunkBytes;
  for (let at = from; at < to;) {
    const wanted = Math.min(size, to - at);
    const chunk = await files.read(state, at, wanted);
    let used = 0;
    for (let stop = chunk.indexOf(newline); stop >= 0; stop = chunk.indexOf(newline, used)) {
      yield* piecesOfLine(chunk.subarray(used, stop + 1), at + used);
      used = stop + 1;
    }
    const isEnd = chunk.length < wanted || at + chunk.length >= to;
    if (isEnd) {
      if (at + used < to) yield { kind: 'damage', offset: at + used, end: to };
      return;
    }
    if (used === 0 && (isZero(chunk) || size >= lineBytesMax)) {
      yield { kind: 'damage', offset: at, end: at + chunk.length };
      used = chunk.length;
    }
    size = used === 0 ? size * 2 : chunkBytes;
    at += used;
  }
}

/** A hole that a file system fills with zeros. */
function isZero(chunk: Uint8Array): boolean {
  return chunk.every((byte) => byte === 0);
}

function* piecesOfLine(line: Buffer, offset: number): Generator<LogPiece> {
  const end = offset + line.length;
  const whole = readStored(line);
  if (whole !== undefined) {
    yield { kind: 'record', offset, end, raw: whole };
    return;
  }
  for (let at = line.indexOf(lineStart, 1); at >= 0; at = line.indexOf(lineStart, at + 1)) {
    const raw = readStored(line.subarray(at));
    if (raw === undefined) continue;
    yield { kind: 'damage', offset, end: offset + at };
    yield { kind: 'record', offset: offset + at, end, raw };
    return;
  }
  yield { kind: 'damage', offset, end };
}

/** How many records damaged bytes may have held: their line breaks, or one. */
export async function countBreaks(
  files: SessionFiles,
  state: KeyState,
  { offset, end }: Pick<LogPiece, 'offset' | 'end'>,
): Promise<number> {
  let breaks = 0;
  for (let at = offset; at < end; at += chunkBytes) {
    const chunk = await files.read(state, at, Math.min(chunkBytes, end - at));
    for (let found = chunk.indexOf(newline); found >= 0; found = chunk.indexOf(newline, found + 1))
      breaks += 1;
  }
  return Math.max(breaks, 1);
}
