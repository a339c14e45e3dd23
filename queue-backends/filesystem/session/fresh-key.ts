import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { appliedOf, takeBooks } from './key-row.ts';
import { type KeyState, newKeyState } from './key-state.ts';

/**
 * A state for a key without files; its first append opens the epoch (ING-125). Where the key's row outlived a log, the epoch goes on with its
 * cursor, books and owner (D27, ING-610).
 */
export function freshState(engine: Engine, key: Key, workspace: string, session: string): KeyState {
  const row = engine.options.state.getRow(key);
  const ordinal = row === undefined ? 0 : row.ordinal + 1;
  const state = newKeyState(key, engine.options.chance.uuid(), ordinal, engine.table.memory);
  state.workspace = workspace;
  state.session = session;
  if (row === undefined) {
    // Ids without a row: of a life that ended before its first checkpoint and whose journal is gone.
    if (engine.options.state.getProgress(key) === undefined)
      state.ids = engine.indexer.filters.forNewKey();
  } else {
    takeBooks(state, row);
    state.cursor = row.cursor;
    state.baseCursor = row.cursor;
    state.cursorText = JSON.stringify(row.cursor);
    state.applied = appliedOf(row);
    state.before = state.applied;
  }
  engine.table.put(state);
  engine.table.evictIfCrowded((other) => engine.locks.locked(other));
  return state;
}
