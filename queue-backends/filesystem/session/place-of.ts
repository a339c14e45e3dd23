import { type Position, formatPosition } from '#record';
import type { Engine } from '../engine.ts';
import type { KeyState } from './key-state.ts';

/** Stands for an epoch whose id nobody kept; its ordinal orders it all the same. */
const unknownEpoch = 'unknown';

/** The epoch of a key with this ordinal: the one that is open, or one that has ended. */
export function epochAt(engine: Engine, state: KeyState, ordinal: number): string | undefined {
  return ordinal === state.ordinal
    ? state.epoch
    : engine.options.state.getEpoch(state.key, ordinal);
}

/** Where the record of an index entry starts, also when its epoch is over. */
export function placeOf(
  engine: Engine,
  state: KeyState,
  { ordinal, offset }: { readonly ordinal: number; readonly offset: number },
): { readonly epoch: string; readonly position: Position } {
  const epoch = epochAt(engine, state, ordinal) ?? unknownEpoch;
  return { epoch, position: formatPosition({ ordinal, epoch, offset }) };
}
