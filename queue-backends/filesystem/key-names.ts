import type { Key } from '#record';
import { keysOnDisk } from './all-keys.ts';
import type { Engine } from './engine.ts';

/** A look at all folders counts for this long: paging through 100,000 sessions would else look at all of them for each page. */
const namesAgeMsMax = 5_000;
/** Names of one page of the state store. */
const namesAtOnce = 10_000;

/** The names of all keys ever known, in key order. Read when an operator asks, never on the way of an event. */
export class KeyNames {
  #read: Promise<readonly Key[]> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** Every key that has a folder, a row, or is in memory alone; one whose last trace has gone within the last seconds may be among them. */
  async sorted(engine: Engine): Promise<readonly Key[]> {
    const nowMs = engine.options.clock.monotonic();
    if (this.#read === undefined || nowMs - this.#readAtMs > namesAgeMsMax) {
      this.#readAtMs = nowMs;
      this.#read = readNames(engine);
      this.#read.catch(() => {
        this.#read = undefined;
      });
    }
    return withThoseInMemory(await this.#read, engine);
  }
}

async function readNames(engine: Engine): Promise<readonly Key[]> {
  const names = new Set(await keysOnDisk(engine));
  let after: Key | undefined;
  for (;;) {
    const keys = engine.options.state.rowKeys({ after, limit: namesAtOnce });
    for (const key of keys) names.add(key);
    if (keys.length < namesAtOnce) return [...names].toSorted();
    after = keys.at(-1);
  }
}

/** A session that began after the look is in memory until a checkpoint has written it, and longer than a look counts after that. */
function withThoseInMemory(names: readonly Key[], engine: Engine): readonly Key[] {
  const fresh: Key[] = [];
  for (const state of engine.table.values())
    if (state.isOpen && !has(names, state.key)) fresh.push(state.key);
  return fresh.length === 0 ? names : [...names, ...fresh].toSorted();
}

function has(sorted: readonly Key[], key: Key): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = sorted[middle];
    if (found === key) return true;
    if (found !== undefined && found < key) low = middle + 1;
    else high = middle;
  }
  return false;
}
