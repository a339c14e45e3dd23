import type { Key } from '#record';
import type { Engine } from './engine.ts';
import { hasDeadFile } from './session/dead-file.ts';

/**
 * Keys that may have live dead letters. Found once, by their rows and the names of their files, when somebody first asks; from then on each letter
 * and outcome keeps them right. Some may be among them that have none any more.
 */
export class DeadKeys {
  readonly #noted = new Map<Key, boolean>();
  #read: Promise<Set<Key>> | undefined;

  /** After a letter or an outcome: what the key's books say now. */
  note(key: Key, dead: number): void {
    this.#noted.set(key, dead > 0);
  }

  async sorted(engine: Engine): Promise<readonly Key[]> {
    this.#read ??= readDeadKeys(engine);
    this.#read.catch(() => {
      this.#read = undefined;
    });
    const found = await this.#read;
    for (const [key, hasLetters] of this.#noted) {
      if (hasLetters) found.add(key);
      else found.delete(key);
    }
    this.#noted.clear();
    return [...found].toSorted();
  }
}

async function readDeadKeys(engine: Engine): Promise<Set<Key>> {
  const found = new Set<Key>();
  for (const key of await engine.names.sorted(engine)) {
    const state = engine.table.get(key);
    const known = state?.isOpen === true ? state.totals : engine.options.state.getRow(key)?.totals;
    if (known !== undefined && known.dead > 0) found.add(key);
    // Of a key that is neither in memory nor over, the books are in its offset record: its file of letters tells sooner.
    else if (state?.isOpen !== true && (await hasDeadFile(engine, key))) found.add(key);
  }
  return found;
}
