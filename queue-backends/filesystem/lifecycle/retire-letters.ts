import type { Engine } from '../engine.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';
import {
  appendLetterLines,
  deadFileName,
  readLetterFile,
  removeLetterFile,
  retiredFileName,
} from '../session/dead-file.ts';
import type { KeyState } from '../session/key-state.ts';

/**
 * Moves the letters and outcomes of the live file, and those that it does not hold yet, to the retired files of the epochs that they belong to
 * (ING-710, ING-711). What is there is added to and never replaced; the live file goes last, so that no letter is ever in neither.
 */
export async function retireLetters(engine: Engine, state: KeyState): Promise<void> {
  const { disk } = engine.options;
  const { key } = state;
  const live = await readLetterFile(engine, key, deadFileName);
  const byEpoch = Map.groupBy([...live.lines, ...state.newDead], (line) => epochOf(state, line));
  if (byEpoch.size > 0) await disk.makeDirectory(engine.files.folderOf(key));
  for (const [epoch, lines] of byEpoch)
    await appendLetterLines(engine, key, retiredFileName(epoch), lines);
  if (byEpoch.size > 0 && !state.isFolderSynced)
    for (const above of engine.files.foldersAbove(key)) await disk.syncDirectory(above);
  await removeLetterFile(engine, key, live);
  state.newDead = [];
}

const epochPattern = /:([A-Za-z0-9_-]{1,64})\.\d+$/;

/** The id of a letter names the epoch of its record; an outcome may come in a later one. */
function epochOf(state: KeyState, { id }: DeadLine | OutcomeLine): string {
  return epochPattern.exec(id)?.[1] ?? state.epoch;
}
