import type { KeyState } from './key-state.ts';
import type { TailLine } from './tail-memory.ts';

/** Lines stay in memory for the drain after they were written, up to this many bytes of one key and of all keys. */
const warmTailBytesMax = 1024 * 1024;
const warmMemoryBytesMax = 64 * 1024 * 1024;

export function addToTail(state: KeyState, line: TailLine): void {
  state.tail.push(line);
  state.tailBytes += line.bytes.length;
  state.memory.add(line);
}

/** Forgets lines that the log holds and the drain has passed, or that are more than a warm tail. */
export function trimTail(state: KeyState): void {
  let drop = 0;
  let bytes = 0;
  for (const line of state.tail) {
    const end = line.offset + line.bytes.length;
    if (end > state.filledTo || (end > state.committed && isWarm(state, bytes))) break;
    bytes += line.bytes.length;
    drop += 1;
  }
  if (drop === 0) return;
  for (const line of state.tail.splice(0, drop)) state.memory.drop(line);
  state.tailBytes -= bytes;
}

function isWarm(state: KeyState, dropped: number): boolean {
  return (
    state.tailBytes - dropped <= warmTailBytesMax &&
    state.memory.bytes - dropped <= warmMemoryBytesMax
  );
}

/** Forgets lines that end at or before an offset: the log begins behind them now. */
export function dropTailBelow(state: KeyState, base: number): void {
  const kept = state.tail.filter(({ offset }) => offset >= base);
  for (const line of state.tail) if (line.offset < base) state.memory.drop(line);
  state.tail = kept;
  state.tailBytes = kept.reduce((sum, line) => sum + line.bytes.length, 0);
}

/** For a state that another one replaces. */
export function dropTail(state: KeyState): void {
  for (const line of state.tail) state.memory.drop(line);
  state.tail = [];
  state.tailBytes = 0;
}
