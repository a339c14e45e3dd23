import { type Engine, noteBacklog } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type KeyState, dirty } from '../session/key-state.ts';
import { encodeAppend } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { keyOf } from './append-key.ts';

/** Keys of one frame that carries duplicates alone. */
const keysMax = 1000;

/** Duplicates are counted by frames alone, so that no crash counts one twice: those that no other frame took travel in one without records. */
export async function submitDuplicates(engine: Engine): Promise<void> {
  const states = [...engine.table.values()].filter((state) => state.pendingDuplicates > 0);
  for (let at = 0; at < states.length; at += keysMax)
    await submitWithoutRecords(engine, states.slice(at, at + keysMax));
}

/**
 * One frame with what waits to be counted of these keys, and no record. It opens the epoch of a key that has none, because its last one is
 * over: a frame speaks of an open epoch only. Handed over when it returns, durable when it resolves.
 */
export function submitWithoutRecords(
  engine: Engine,
  states: readonly KeyState[],
): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const parts = states.map((state) => {
    const isOpening = !state.isOpen && state.opening === undefined;
    const key = keyOf(state, state.pendingDuplicates, { isOpening, isClaiming: false });
    if (isOpening) state.opening = { settled: promise };
    const duplicates = state.pendingDuplicates;
    state.pendingDuplicates = 0;
    return { state, key, duplicates, isOpening };
  });
  const settle = (isDurable: boolean): void => {
    for (const { state, duplicates, isOpening } of parts) {
      if (isOpening) settleOpening(engine, state, isDurable);
      settleDuplicates(engine, state, duplicates, isDurable);
    }
    resolve(isDurable);
  };
  const keys = parts.map(({ key }) => key);
  return submitFrame(
    engine,
    frameKinds.append,
    encodeAppend({ keys, records: [], t: engine.options.clock.now() }, []),
    () => settle(true),
    () => settle(false),
  );
}

/** The frame that opens an epoch is durable, or was refused. */
export function settleOpening(engine: Engine, state: KeyState, isDurable: boolean): void {
  state.opening = undefined;
  if (!isDurable) return;
  if (state.ordinal === 0) engine.totals.keys += 1;
  state.isOpen = true;
  dirty(state);
  noteBacklog(engine, state, state.end - state.committed);
}

/** What a frame took of the duplicates of a key: counted once it is durable, waiting for the next one when it failed. */
export function settleDuplicates(
  engine: Engine,
  state: KeyState,
  count: number,
  isDurable: boolean,
): void {
  if (!isDurable) {
    state.pendingDuplicates += count;
    return;
  }
  if (count === 0) return;
  state.totals.duplicates += count;
  engine.totals.duplicates += count;
  engine.pendingDuplicates -= count;
  dirty(state);
}
