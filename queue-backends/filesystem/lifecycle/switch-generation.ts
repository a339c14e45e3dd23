import { failpoint } from '#disk';
import type { KeyGuard } from '#queue';
import { evidenceKept } from '#signals';
import type { Engine } from '../engine.ts';
import type { GenerationPayload } from '../journal/payloads.ts';
import { generationOf } from '../session/generation-file.ts';
import { type KeyState, dirty } from '../session/key-state.ts';
import { soundEnd } from '../session/read-lines.ts';
import { dropTailBelow } from '../session/tail.ts';

/** Where a log generation begins, and what was known there. */
export type GenerationStart = Pick<KeyState, 'gen' | 'base' | 'baseCursor' | 'before'>;

export function startOf({ gen, base, baseCursor, before }: KeyState): GenerationStart {
  return { gen, base, baseCursor, before };
}

/** The generation that a compaction of the present state would begin: behind what is committed, with the cursor of that place. */
export function nextStart(state: KeyState): GenerationStart {
  return {
    gen: state.gen + 1,
    base: state.committed,
    baseCursor: state.cursor,
    before: state.applied ?? state.before,
  };
}

/**
 * Makes the files of a generation, which nobody reads yet: its description, then its log with the bytes that the present one holds behind
 * `base` (ING-811, ING-815). Durable when it resolves; recovery makes them in the same way from a GENERATION frame.
 */
export async function prepareGeneration(
  engine: Engine,
  state: KeyState,
  start: GenerationStart,
): Promise<void> {
  const { files, options } = engine;
  await files.writeGeneration(state.key, generationOf({ ...state, ...start }));
  await failpoint('compaction:described');
  await files.copyToGeneration(state, start.gen, start.base, state.filledTo);
  await failpoint('compaction:copied');
  await options.disk.syncDirectory(files.folderOf(state.key));
}

/** What a durable GENERATION changes; position, cursor and totals stay as they are (W4, W5). */
export function takeGeneration(
  state: KeyState,
  start: GenerationStart,
  { seq }: Pick<GenerationPayload, 'seq'>,
): void {
  Object.assign(state, start);
  state.seq = seq;
  state.filledTo = Math.max(state.filledTo, start.base);
  // The log of the generation was synced up to where the one before was filled.
  state.syncedTo = Math.max(state.syncedTo, start.base);
  state.hasOtherGenerations = true;
  dropTailBelow(state, start.base);
  dirty(state);
}

/** Reads the present generation back, before the one that it replaces goes (ING-812). */
export async function isWhole(engine: Engine, state: KeyState): Promise<boolean> {
  const { files } = engine;
  const found = await files.readGeneration(state.key, state.gen);
  if (found?.epoch !== state.epoch || found.base !== state.base) return false;
  const sound = await soundEnd(files, state, state.base, state.filledTo);
  return sound.end === state.filledTo;
}

/** Leaves of a key's log the present generation alone; a higher one is a switch that was given up (ING-814). */
export async function removeOtherGenerations(engine: Engine, state: KeyState): Promise<void> {
  const { files, options } = engine;
  const others = await files.otherGenerations(state.key, state.gen);
  for (const { gen, path } of others)
    if (gen > state.gen)
      evidenceKept.publish(() => ({ path, reason: 'removed: a compaction that was given up' }));
  if (others.length > 0) {
    await files.remove(others);
    await failpoint('compaction:removed');
    await options.disk.syncDirectory(files.folderOf(state.key));
  }
  state.hasOtherGenerations = false;
}

/** What recovery does with a GENERATION frame that the key's offset record does not hold. */
export async function replayGeneration(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  payload: GenerationPayload,
): Promise<void> {
  const { gen, base } = payload;
  await engine.filler.fillNow(state, guard);
  if (payload.undo === 1) {
    await engine.files.extendGeneration(state, gen, base);
    const found = await engine.files.readGeneration(state.key, gen);
    const { cursor: baseCursor = null } = found ?? {};
    takeGeneration(state, { gen, base, baseCursor, before: state.before }, payload);
    return;
  }
  const start = { ...nextStart(state), gen, base };
  await prepareGeneration(engine, state, start);
  takeGeneration(state, start, payload);
}
