import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import { append, drain, numbered } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testWorkspace } from '../../support/queue-fixtures.ts';
import { withPlace } from './place.ts';

describe('listing many sessions', () => {
  it('looks at the folders once for all pages, and knows a session that has just begun (QFS-15)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const sessions = Array.from({ length: 300 }, (_, at) => `s${at}`);
      await append(first, ...sessions.flatMap((session) => numbered(session, 0, 1)));
      for (const session of sessions) await drain(first, session);
      await first.close();
      let looks = 0;
      const inner = place.disk;
      const readDirectory = (path: string): ReturnType<typeof inner.readDirectory> => {
        if (path === `${queueDirectory}/sessions`) looks += 1;
        return inner.readDirectory(path);
      };
      const queue = await place.open({ disk: { ...inner, readDirectory } });
      const page = await queue.listKeys({ limit: 100 });
      await append(queue, ...numbered('zz-fresh', 0, 1));
      const names = page.map(({ session }) => session);
      for (let last = page.at(-1); last !== undefined;) {
        const more = await queue.listKeys({ limit: 100, afterKey: last.key });
        names.push(...more.map(({ session }) => session));
        last = more.at(-1);
      }
      expect(names.toSorted()).toEqual([...sessions, 'zz-fresh'].toSorted());
      const [one] = await queue.listKeys({ limit: 10, session: 's217' });
      expect(one).toMatchObject({ session: 's217', workspace: testWorkspace });
      expect(looks).toBe(1);
      await place.clock.advance(6_000);
      await queue.listKeys({ limit: 1 });
      expect(looks).toBe(2);
    }));

  it('asks no file for sessions with dead letters where there is none', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('a', 0, 1), ...numbered('b', 0, 1));
      await first.close();
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      const calls = disk.callCount();
      expect(await queue.listKeys({ limit: 10, state: 'dead' })).toEqual([]);
      expect(disk.callCount()).toBe(calls);
    }));
});
