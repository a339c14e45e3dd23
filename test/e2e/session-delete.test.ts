import { beforeAll, describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { runJson } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
} from '../support/daemon-client.ts';
import { childEvents, objectsOf, parentEvents } from '../support/deleted-session.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

/** Every durable step of a deletion, in order. */
const points = [
  'removal:intended',
  'removal:graph-gone',
  'removal:marked',
  'removal:ids-gone',
  'removal:folder-gone',
  'removal:queue-gone',
  'removal:objects-gone',
] as const;

interface Expected {
  readonly digest: string;
  readonly objects: number;
}

/** A root that never met the child. */
async function without(): Promise<Expected> {
  return withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root });
    try {
      await postLines(daemon.url, parentEvents);
      await waitUntilIdle(daemon.url);
      const { digest } = await readDigest(daemon.url);
      return { digest, objects: objectsOf(root).length };
    } finally {
      await daemon.kill();
    }
  });
}

describe('a deletion of a session that is killed', () => {
  let expected: Expected;
  beforeAll(async () => {
    expected = await without();
  });

  for (const point of points)
    it(`at ${point} is carried to its end by the next start, and nothing is half (P4, P10)`, async () => {
      await withTemporaryDirectory(async (root) => {
        await makeLabRoot(root);
        const env = { MILLRACE_FAILPOINTS: `${point}=crash` };
        const killed = await startDaemon({ root, env });
        await postLines(killed.url, [...parentEvents, ...childEvents]);
        await waitUntilIdle(killed.url);
        const request = fetch(`${killed.url}/v1/sessions/child`, { method: 'DELETE' });
        await expect(request).rejects.toThrow();
        await killed.exited();
        // What is half is known to be on its way: no finding (ING-541).
        expect(await runJson('queue', 'verify', '--root', root)).toMatchObject({ ok: true });
        const daemon = await startDaemon({ root });
        try {
          const { url } = daemon;
          // What comes to it meanwhile waits and begins a new life.
          const known = async (): Promise<number> =>
            (await fetch(`${url}/v1/sessions/child`)).status;
          await expect.poll(known).toBe(404);
          const again = await fetch(`${url}/v1/sessions/child`, { method: 'DELETE' });
          expect(again.status).toBe(200);
          expect(await again.json()).toMatchObject({ deleted_before: expect.any(String) });
          await expect.poll(() => objectsOf(root).length).toBe(expected.objects);
          expect((await readDigest(url)).digest).toBe(expected.digest);
          expect(await readBooks(url)).toMatchObject({ accepted: 3, dead: 0, residual: 0 });
          expect(await getJson(url, '/v1/dead-letters?retired=true')).toMatchObject({
            dead_letters: [],
          });
          await expect.poll(() => postLines(url, childEvents.slice(0, 1))).toBe(202);
          await waitUntilIdle(url);
          expect(await getJson(url, '/v1/sessions/child')).toMatchObject({
            accepted: 1,
            applied: 1,
            ordinal: 0,
          });
          const audit = await runJson<{ audit: readonly { verb: string; outcome: string }[] }>(
            'audit',
            'list',
            '--url',
            url,
          );
          expect(audit.audit).toContainEqual(
            expect.objectContaining({ verb: 'sessions delete', outcome: 'INTERRUPTED' }),
          );
        } finally {
          expect(await daemon.stop()).toBe(0);
        }
        expect(await runJson('queue', 'verify', '--root', root)).toMatchObject({ ok: true });
      });
    });
});
