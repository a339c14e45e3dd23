import { join } from 'node:path';
import type { KeptArchive, LogKeeping, SettledLetter } from '#queue';
import type { Key } from '#record';
import { keysOnDisk } from '../all-keys.ts';
import type { Engine } from '../engine.ts';
import { withState } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { retiredPattern } from '../session/dead-file.ts';
import { archivePattern } from './archive-log.ts';
import { forgetSettled, settledOf } from './forget-letters.ts';

/** What goes by age or size: archives, and letters that were settled. Files go while no snapshot is being copied. */
export function createKeeping(engine: Engine): LogKeeping {
  return {
    archives: () => archives(engine),
    removeArchives: (key, names) => engine.filesGate.pass(() => removeArchives(engine, key, names)),
    settledLetters: () => settledLetters(engine),
    forgetLetters: (key, ids) =>
      engine.filesGate.pass(() =>
        withState(engine, key, 'forget', async (state) => {
          assertWriter(engine);
          return engine.quarantined.has(key) ? [] : forgetSettled(engine, key, state, new Set(ids));
        }),
      ),
  };
}

async function* archives(engine: Engine): AsyncGenerator<KeptArchive> {
  const { disk } = engine.options;
  for (const key of await keysOnDisk(engine)) {
    if (engine.quarantined.has(key)) continue;
    const folder = engine.files.folderOf(key);
    for (const { name } of await disk.readDirectory(folder)) {
      if (!archivePattern.test(name)) continue;
      const stat = await disk.stat(join(folder, name));
      if (stat !== undefined) yield { key, name, bytes: stat.size, atMs: stat.modifiedMs };
    }
  }
}

async function removeArchives(
  engine: Engine,
  key: Key,
  names: readonly string[],
): Promise<readonly string[]> {
  const { disk } = engine.options;
  return withState(engine, key, 'archives', async () => {
    assertWriter(engine);
    if (engine.quarantined.has(key)) return [];
    const folder = engine.files.folderOf(key);
    const gone = names.filter((name) => archivePattern.test(name));
    for (const name of gone) {
      const path = join(folder, name);
      if ((await disk.stat(path)) !== undefined) await disk.unlink(path);
    }
    if ((await disk.stat(folder)) !== undefined) await disk.syncDirectory(folder);
    return gone;
  });
}

async function* settledLetters(engine: Engine): AsyncGenerator<SettledLetter> {
  // Most keys have no letters, and need not be loaded.
  for (const key of await engine.letteredKeys.sorted(engine)) {
    if (engine.quarantined.has(key) || !(await hasRetired(engine, key))) continue;
    yield* await withState(engine, key, 'letters', (state) => settledOf(engine, key, state));
  }
}

async function hasRetired(engine: Engine, key: Key): Promise<boolean> {
  const entries = await engine.options.disk.readDirectory(engine.files.folderOf(key));
  return entries.some(({ name }) => retiredPattern.test(name));
}
