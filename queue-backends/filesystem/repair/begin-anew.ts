import type { ClearMode, KeyGuard } from '#queue';
import type { Engine } from '../engine.ts';
import { keepCopy } from '../evidence.ts';
import { keepSoundDigests } from '../lifecycle/keep-digests.ts';
import { submitGeneration } from '../lifecycle/compaction.ts';
import { nextStart, prepareGeneration } from '../lifecycle/switch-generation.ts';
import type { KeyState } from '../session/key-state.ts';
import { isFirstGeneration, survey } from './examine.ts';

/**
 * Makes good what is lost of the beginning of a stopped key's log. The generation file of a first epoch says nothing that is not known, and is told
 * anew. What a later one said is told by nobody else; but where the key stands is known, so its log goes on in a generation that begins there. So it
 * does where records that are committed are damaged: nobody drains them again, but whoever sends one again would meet the damage. Damaged bytes
 * behind the position go along, at their places.
 */
export async function mendBeginning(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  mode: ClearMode,
): Promise<void> {
  const { files } = engine;
  const isDescribed = (await files.readGeneration(state.key, state.gen)) !== undefined;
  if (!isDescribed && isFirstGeneration(state)) await tellAnew(engine, state);
  const isUsed = isDescribed || isFirstGeneration(state);
  if (!mayBeginAnew(state) || (isUsed && staysModes.has(mode))) return;
  if (isUsed && !(await isDamagedBefore(engine, state))) return;
  await beginAnew(engine, guard, state);
}

/** These ways read the log from where it begins. */
const staysModes: ReadonlySet<ClearMode> = new Set(['restart-log', 'offset-from-preserved']);

/** Position and cursor are known without the generation file. */
export function mayBeginAnew(state: KeyState): boolean {
  return state.hasSoundRecord && state.cursor !== null && state.committed <= state.end;
}

async function tellAnew({ files, options }: Engine, state: KeyState): Promise<void> {
  const path = files.generationPath(state.key, state.gen);
  const reason = 'a generation file that could not be read is told anew';
  await keepCopy(options, path, 'corrupt', reason);
  state.baseCursor = null;
  state.before = null;
  await files.makeFolder(state);
}

async function isDamagedBefore(engine: Engine, state: KeyState): Promise<boolean> {
  const before = await survey(engine, state, new Set(), state.base, state.committed);
  return before.damageCount > 0;
}

async function beginAnew(engine: Engine, guard: KeyGuard, state: KeyState): Promise<void> {
  const { files, options } = engine;
  for (const path of [
    files.generationPath(state.key, state.gen),
    files.logPath(state.key, state.gen),
  ])
    await keepCopy(
      options,
      path,
      'corrupt',
      `${state.key} goes on without it, in a new generation`,
    );
  await engine.filler.fillNow(state, guard);
  await keepSoundDigests(engine, state, state.committed);
  await options.state.flush();
  const start = nextStart(state);
  await prepareGeneration(engine, state, start);
  await submitGeneration(engine, state, start, false);
}
