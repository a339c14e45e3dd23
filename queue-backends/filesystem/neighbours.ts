import type { BatchItem, LogNeighbours, Neighbours } from '#queue';
import { parsePosition, type Position } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, positionOf } from './session/key-state.ts';
import { readLines } from './session/read-lines.ts';
import { withState } from './with-state.ts';

/** Looked through before a record to find the one before it; a longer record before it is not shown. */
const windowBytes = 1024 * 1024;
/** Bytes of records that one look returns. */
const shownBytesMax = 4 * 1024 * 1024;
const newline = 0x0a;

export function createNeighbours(engine: Engine): LogNeighbours {
  return {
    neighbours: (key, at, count) =>
      withState(engine, key, 'neighbours', async (state) => around(engine, state, at, count)),
  };
}

async function around(
  engine: Engine,
  state: KeyState | undefined,
  at: Position,
  count: number,
): Promise<Neighbours | undefined> {
  const place = parsePosition(at);
  if (state?.isOpen !== true || place === undefined || place.epoch !== state.epoch)
    return undefined;
  const { offset } = place;
  if (offset < state.base || offset >= state.filledTo || state.quarantine !== null)
    return undefined;
  const from = await startOfEarlier(engine, state, offset, count);
  const before = from === offset ? [] : await itemsOf(engine, state, from, offset, count);
  const [, ...after] = await itemsOf(engine, state, offset, state.filledTo, count + 1);
  return { before, after };
}

/** Where the record `count` places before an offset starts, or the first one within reach. */
async function startOfEarlier(
  engine: Engine,
  state: KeyState,
  offset: number,
  count: number,
): Promise<number> {
  const from = Math.max(state.base, offset - windowBytes);
  if (from === offset) return offset;
  const bytes = Buffer.from(await engine.files.read(state, from, offset - from));
  let start = offset;
  for (let left = count; left > 0 && start > from; left -= 1) {
    const end = start - from - 1;
    const found = end <= 0 ? -1 : bytes.lastIndexOf(newline, end - 1);
    if (found < 0 && from > state.base) break;
    start = from + found + 1;
  }
  return start;
}

async function itemsOf(
  engine: Engine,
  state: KeyState,
  from: number,
  to: number,
  count: number,
): Promise<readonly BatchItem[]> {
  const items: BatchItem[] = [];
  let bytes = 0;
  for await (const { offset, end, raw } of readLines(engine.files, state, from, to)) {
    items.push({ raw, at: positionOf(state, offset), after: positionOf(state, end) });
    bytes += raw.length;
    if (items.length >= count || bytes >= shownBytesMax) break;
  }
  return items;
}
