import { failpoint } from '#disk';
import type { KeptArchive, LogKeeping, SettledLetter } from '#queue';
import type { Key } from '#record';
import { Oldest } from './oldest.ts';
import type { RetainedItem, Shelf, Taken } from './shelf.ts';

interface OfKey extends RetainedItem {
  readonly key: Key;
  /** Name within its key. */
  readonly own: string;
}

/** Parts of logs that went and were kept, gzipped. */
export function archiveShelf(keeping: LogKeeping): Shelf<OfKey> {
  return shelfOver('archives', {
    each: () => keeping.archives(),
    itemOf: ({ key, name, bytes, atMs }: KeptArchive) => ({
      key,
      own: name,
      name: `${key}/${name}`,
      bytes,
      atMs,
    }),
    take: (key, names) => keeping.removeArchives(key, names),
  });
}

/** Dead letters of ended sessions that were requeued or discarded. */
export function letterShelf(keeping: LogKeeping): Shelf<OfKey> {
  return shelfOver('letters', {
    each: () => keeping.settledLetters(),
    itemOf: ({ key, id, bytes, settledMs }: SettledLetter) => ({
      key,
      own: id,
      name: id,
      bytes,
      atMs: settledMs,
    }),
    take: (key, ids) => keeping.forgetLetters(key, ids),
  });
}

/** How many of one key go in one step is what the files of that key cost to write anew. */
const atOnce = 500;

function shelfOver<T>(
  part: 'archives' | 'letters',
  {
    each,
    itemOf,
    take,
  }: {
    each(): AsyncIterable<T>;
    itemOf(one: T): OfKey;
    /** Names of those that are there no more. */
    take(key: Key, names: readonly string[]): Promise<readonly string[]>;
  },
): Shelf<OfKey> {
  return {
    part,
    atOnce,
    async look(limit) {
      const oldest = new Oldest<OfKey>(limit);
      for await (const one of each()) oldest.add(itemOf(one));
      return oldest.look();
    },
    inspect: ({ bytes = 0 }) => Promise.resolve({ bytes }),
    async take(items) {
      const taken: Taken[] = [];
      for (const [key, some] of Map.groupBy(items, (item) => item.key)) {
        const names = some.map(({ own }) => own);
        const gone = new Set(await take(key, names));
        await failpoint(`retention:${part}-taken`);
        for (const { name, own } of some)
          taken.push(gone.has(own) ? { name } : { name, refused: 'IN_USE' });
      }
      return taken;
    },
  };
}
