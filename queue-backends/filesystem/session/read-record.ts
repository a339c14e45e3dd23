import type { Engine } from '../engine.ts';
import type { KeyState } from './key-state.ts';
import type { TailLine } from './tail-memory.ts';
import { recordIn } from './read-lines.ts';
import { recordOfOwn } from './stored-line.ts';

/** A checksum is for bytes that were away: on a disk, or with an earlier process. */
export function recordOfTail(state: KeyState, { offset, bytes, isOwn }: TailLine): Uint8Array {
  return isOwn === true ? recordOfOwn(bytes) : recordIn(state, offset, bytes);
}

/** The stored record that ends at an offset, wherever it still is. */
export async function readEndingAt(
  engine: Engine,
  state: KeyState,
  end: number,
): Promise<Uint8Array | undefined> {
  const inTail = state.tail.find(({ offset, bytes }) => offset + bytes.length === end);
  if (inTail !== undefined) return recordOfTail(state, inTail);
  const floor = floorBelow(state, end);
  if (end <= floor || end > state.filledTo) return undefined;
  let size = 64 * 1024;
  for (;;) {
    const from = Math.max(floor, end - size);
    const chunk = await engine.files.read(state, from, end - from);
    if (chunk.length < end - from || chunk.at(-1) !== 0x0a) return undefined;
    const previous = chunk.lastIndexOf(0x0a, chunk.length - 2);
    if (previous >= 0 || from === floor)
      return recordIn(state, from + previous + 1, chunk.subarray(previous + 1));
    size *= 4;
  }
}

/** Where reading backwards from `end` has to stop: no record begins before it. */
function floorBelow(state: KeyState, end: number): number {
  let floor = state.base;
  for (const range of state.ranges) if (range.start < end) floor = Math.max(floor, range.end);
  return floor;
}

/** The stored record at an offset of known length. */
export async function readAt(
  engine: Engine,
  state: KeyState,
  offset: number,
  length: number,
): Promise<Uint8Array | undefined> {
  const inTail = state.tail.find((line) => line.offset === offset);
  if (inTail !== undefined) return recordOfTail(state, inTail);
  if (offset < state.base || offset + length > state.filledTo) return undefined;
  const line = await engine.files.read(state, offset, length);
  return line.length === length ? recordIn(state, offset, line) : undefined;
}

/** Whether a record ends, and so the next one begins, at an offset. */
export async function isBoundary(
  engine: Engine,
  state: KeyState,
  offset: number,
): Promise<boolean> {
  if (offset === state.base || state.ranges.some(({ end }) => end === offset)) return true;
  if (state.tail.some((line) => line.offset === offset)) return true;
  const before = await engine.files.read(state, offset - 1, 1);
  return before[0] === 0x0a;
}
