import { recordCorrupt } from '#queue';
import type { KeyState } from './key-state.ts';
import type { SessionFiles } from './session-files.ts';
import { readStored } from './stored-line.ts';

/** A stored line with its place; `raw` is the record as it was appended. */
export interface ReadLine {
  readonly offset: number;
  readonly end: number;
  readonly raw: Uint8Array;
}

const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** The record in a stored line, or the corrupt class with its place (QFS-10). */
export function recordIn(state: KeyState, offset: number, line: Uint8Array): Uint8Array {
  const raw = readStored(line);
  if (raw === undefined)
    throw recordCorrupt({
      key: state.key,
      place: `${offset}…${offset + line.length}`,
      reason: 'its checksum does not match',
    });
  return raw;
}

/** The stretches between two offsets that were not passed over, in order. */
export function stretchesOf(
  state: Pick<KeyState, 'ranges'>,
  from: number,
  to: number,
): readonly (readonly [from: number, to: number])[] {
  const stretches: [number, number][] = [];
  let at = from;
  for (const { start, end } of state.ranges) {
    if (end <= at || start >= to) continue;
    if (start > at) stretches.push([at, start]);
    at = end;
  }
  if (at < to) stretches.push([at, to]);
  return stretches;
}

/** Whole lines of a log between two offsets, in bounded memory, checked one by one; what was passed over is left out. */
export function readLines(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<ReadLine> {
  return state.ranges.length === 0
    ? readStretch(files, state, from, to)
    : readStretches(files, state, from, to);
}

async function* readStretches(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<ReadLine> {
  for (const [start, end] of stretchesOf(state, from, to))
    yield* readStretch(files, state, start, end);
}

async function* readStretch(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): AsyncGenerator<ReadLine> {
  let offset = from;
  let size = chunkBytes;
  while (offset < to) {
    const wanted = Math.min(size, to - offset);
    const chunk = await files.read(state, offset, wanted);
    let at = 0;
    for (;;) {
      const end = chunk.indexOf(newline, at);
      if (end < 0) break;
      const line = chunk.subarray(at, end + 1);
      yield { offset: offset + at, end: offset + end + 1, raw: recordIn(state, offset + at, line) };
      at = end + 1;
    }
    offset += at;
    if (at > 0) size = chunkBytes;
    else if (chunk.length < wanted || offset + chunk.length >= to)
      throw recordCorrupt({
        key: state.key,
        place: `${offset}…${to}`,
        reason: 'the log ends inside a record',
      });
    else size *= 2;
  }
}

/** Where the sound lines behind `from` end; what follows there is no whole line with a good crc. */
export async function soundEnd(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
): Promise<{ readonly records: number; readonly end: number }> {
  let records = 0;
  let end = from;
  try {
    for await (const line of readLines(files, state, from, to)) {
      records += 1;
      end = line.end;
    }
  } catch (error) {
    if (!recordCorrupt.is(error)) throw error;
  }
  return { records, end };
}

/** Counts records and finds the end of the last whole one; `visit` sees each. */
export async function countLines(
  files: SessionFiles,
  state: KeyState,
  from: number,
  to: number,
  visit?: (offset: number, length: number, raw: Uint8Array) => void,
): Promise<{ readonly records: number; readonly end: number }> {
  let records = 0;
  let end = from;
  for await (const line of readLines(files, state, from, to)) {
    records += 1;
    end = line.end;
    visit?.(line.offset, line.end - line.offset, line.raw);
  }
  return { records, end };
}
