import { assert } from '#base';
import type { BondedKey, GraphBond } from '#queue';
import { type Key, parsePosition } from '#record';
import type { Engine } from './engine.ts';
import { bindFormat, restoredFromOf, type FormatFile } from './format-file.ts';
import { appliedOf } from './session/key-row.ts';
import { withState } from './with-state.ts';

/** The bond between this queue and its graph (ING-540…542). `checkpoint` carries all frames into the files now. */
export function createGraphBond(
  engine: Engine,
  format: FormatFile,
  checkpoint: () => Promise<void>,
): GraphBond {
  let current = format;
  return {
    get graphId() {
      return current.graph_id;
    },
    get restoredFrom() {
      return restoredFromOf(current);
    },
    async bondedKeys({ after, limit }) {
      const found: BondedKey[] = [];
      for (const key of keysAfter(engine, after, limit)) {
        const one = await bondedKey(engine, key);
        if (one !== undefined) found.push(one);
      }
      return found;
    },
    checkpointedKeys: (page) => checkpointedKeys(engine, page),
    bondedKey: (key) => bondedKey(engine, key),
    async forgetApplied(keys) {
      // Frames that a start would replay bring their ids back: none may be left of these keys.
      await checkpoint();
      let count = 0;
      for (const key of keys) count += await forgetApplied(engine, key);
      await engine.options.state.flush();
      return count;
    },
    async bindGraph(graphId) {
      current = await bindFormat(engine.options, graphId);
    },
  };
}

/** Each key has a row from its first checkpoint on, and until then it is in memory. */
function keysAfter(engine: Engine, after: Key | undefined, limit: number): readonly Key[] {
  const keys = new Set(engine.options.state.rowKeys({ after, limit }));
  for (const { key, isOpen } of engine.table.values())
    if (isOpen && (after === undefined || key > after)) keys.add(key);
  return [...keys].toSorted().slice(0, limit);
}

function checkpointedKeys(
  { options: { state } }: Engine,
  page: { readonly after: Key | undefined; readonly limit: number },
): readonly BondedKey[] {
  return state.rowKeys(page).flatMap((key) => {
    const row = state.getRow(key);
    return row === undefined ? [] : [{ key, applied: appliedOf(row) }];
  });
}

function bondedKey(engine: Engine, key: Key): Promise<BondedKey | undefined> {
  return withState(engine, key, 'bond', async (state) => {
    if (state?.isOpen === true) return { key, applied: state.applied };
    const row = engine.options.state.getRow(key);
    return row === undefined ? undefined : { key, applied: appliedOf(row) };
  });
}

function forgetApplied(engine: Engine, key: Key): Promise<number> {
  return withState(engine, key, 'forget', async (state) => {
    const { state: store, permit } = engine.options;
    const before =
      state?.isOpen === true
        ? { ordinal: state.ordinal, offset: state.committed }
        : finalPlace(engine, key);
    if (before === undefined) return 0;
    await engine.indexer.drain();
    return store.forgetIds(permit, key, { before });
  });
}

/** The end of a key whose log was finalised. */
function finalPlace(
  engine: Engine,
  key: Key,
): { readonly ordinal: number; readonly offset: number } | undefined {
  const row = engine.options.state.getRow(key);
  if (row === undefined) return undefined;
  const parts = parsePosition(row.position);
  assert(parts !== undefined, `the row of ${key} holds a position`);
  return { ordinal: parts.ordinal, offset: parts.offset };
}
