import type { Key } from '#record';
import { keysOnDisk } from './all-keys.ts';
import type { Engine } from './engine.ts';
import { isLetterFile } from './session/dead-file.ts';

/**
 * Keys that have letters, settled ones too. Found once by the names of their files, when somebody first asks; from then on each letter adds its key. One
 * whose letters have all been forgotten since may be among them.
 */
export class LetteredKeys {
  #noted = new Set<Key>();
  #read: Promise<Set<Key>> | undefined;

  note(key: Key): void {
    this.#noted.add(key);
  }

  async sorted(engine: Engine): Promise<readonly Key[]> {
    this.#read ??= readLetteredKeys(engine);
    this.#read.catch(() => {
      this.#read = undefined;
    });
    const found = await this.#read;
    for (const key of this.#noted) found.add(key);
    this.#noted = new Set();
    return [...found].toSorted();
  }
}

async function readLetteredKeys(engine: Engine): Promise<Set<Key>> {
  const { disk } = engine.options;
  const found = new Set<Key>();
  // Letters that no file holds yet.
  for (const state of engine.table.values()) if (state.newDead.length > 0) found.add(state.key);
  for (const key of await keysOnDisk(engine)) {
    const entries = await disk.readDirectory(engine.files.folderOf(key));
    if (entries.some(({ name }) => isLetterFile(name))) found.add(key);
  }
  return found;
}
