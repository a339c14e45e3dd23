import type { Clock } from '#base';
import type { ExpiredObjectRows } from '#control';
import { failpoint } from '#disk';
import type { Drain } from '#drain';
import type { GraphRemoval } from '#graph';
import { whilePaused } from '../pause-drain.ts';
import type { WatchedObjects } from '../watched-objects.ts';
import { byAge, Oldest } from './oldest.ts';
import type { RetainedItem, Shelf } from './shelf.ts';

export interface ObjectShelfNeeds {
  readonly objects: WatchedObjects;
  readonly graph: Pick<GraphRemoval, 'namedUntil'>;
  readonly expired: ExpiredObjectRows;
  readonly drain: Pick<Drain, 'pause'>;
  readonly clock: Clock;
}

/**
 * Large values. One is as old as the last event that names it, and not older than its file: a value of long ago that came again today is of today. The
 * graph goes on naming what was taken; who asks for it is told so (OBJECT_EXPIRED).
 */
export function objectShelf(needs: ObjectShelfNeeds): Shelf {
  const { objects, graph, expired } = needs;
  return {
    part: 'objects',
    atOnce: 200,
    async look(limit) {
      const oldest = new Oldest<RetainedItem>(limit);
      for await (const { sha256, bytes, putMs } of objects.each())
        oldest.add({ name: sha256, atMs: putMs, bytes });
      const look = oldest.look();
      const until = await graph.namedUntil(look.items.map(({ name }) => name));
      return { ...look, items: look.items.map((item) => aged(item, until)).toSorted(byAge) };
    },
    inspect: ({ bytes = 0 }) => Promise.resolve({ bytes }),
    async take(items, stopping) {
      const paused = <T>(act: () => Promise<T>): Promise<T> => whilePaused(needs, stopping, act);
      // A record that comes to name one meanwhile has put it before: no group is on its way when the look begins, and what was put since stays.
      const watch = await paused(() => Promise.resolve(objects.watchPuts()));
      try {
        const until = await graph.namedUntil(items.map(({ name }) => name));
        const isSame = (item: RetainedItem): boolean => aged(item, until).atMs === item.atMs;
        return await paused(async () => {
          const free = items.filter((item) => isSame(item) && !watch.put.has(item.name));
          expired.note(free.map(({ name }) => name));
          await failpoint('retention:objects-noted');
          for (const { name } of free) await objects.remove(name);
          const gone = new Set(free);
          return items.map((item) =>
            gone.has(item) ? { name: item.name } : { name: item.name, refused: 'OBJECT_IN_USE' },
          );
        });
      } finally {
        watch.end();
      }
    },
  };
}

function aged(item: RetainedItem, until: ReadonlyMap<string, string>): RetainedItem {
  const named = until.get(item.name);
  return named === undefined ? item : { ...item, atMs: Math.max(item.atMs, Date.parse(named)) };
}
