import { offsetCorrupt } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import type { GenerationFile } from './generation-file.ts';
import type { OffsetRecord } from './offset-record.ts';

/** The description of the newest log generation that has a log: a switch that was given up has none yet. */
export async function findGeneration(
  engine: Engine,
  key: Key,
): Promise<GenerationFile | undefined> {
  const entries = await engine.files.otherGenerations(key, undefined);
  const logs = new Set(entries.filter(({ kind }) => kind === 'log').map(({ gen }) => gen));
  const described = entries
    .filter(({ kind }) => kind === 'description')
    .map(({ gen }) => gen)
    .toSorted((a, b) => Number(logs.has(b)) - Number(logs.has(a)) || b - a);
  for (const gen of described) {
    const found = await engine.files.readGeneration(key, gen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Number of the newest generation of which any file is there, sound or not; 0 where there is none. */
export async function newestGeneration(engine: Engine, key: Key): Promise<number> {
  const entries = await engine.files.otherGenerations(key, undefined);
  return Math.max(0, ...entries.map(({ gen }) => gen));
}

/**
 * The description of the generation that an offset record names; undefined when it is missing or damaged. A sound record that belongs to another
 * life of the log than the files beside it is an older copy that somebody put back: OFFSET_CORRUPT, since what it says would lead to a wrong place.
 */
export async function generationNamedBy(
  engine: Engine,
  key: Key,
  record: OffsetRecord,
): Promise<GenerationFile | undefined> {
  const named = await engine.files.readGeneration(key, record.gen);
  const isOther = (found: GenerationFile): boolean =>
    found.epoch !== record.epoch || found.base !== record.base;
  const stranger = named ?? (await newerThan(engine, key, record.gen));
  if (stranger !== undefined && record.state === 'open' && isOther(stranger))
    throw offsetCorrupt({
      key,
      reason: `it speaks of epoch ${record.epoch} and generation ${record.gen} from ${record.base} on, beside it is generation ${stranger.gen} of epoch ${stranger.epoch} from ${stranger.base} on: an older copy was put in its place`,
    });
  return named;
}

async function newerThan(
  engine: Engine,
  key: Key,
  gen: number,
): Promise<GenerationFile | undefined> {
  const newest = await findGeneration(engine, key);
  return newest !== undefined && newest.gen > gen ? newest : undefined;
}
