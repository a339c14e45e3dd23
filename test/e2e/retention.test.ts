import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { runJson } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
} from '../support/daemon-client.ts';
import { objectsOf } from '../support/deleted-session.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { oldEvents, queueFiles } from '../support/old-sessions.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const sessions = ['a', 'b', 'c'];
/** In the order in which they are let go, with the point at which the daemon is killed. */
const points = [
  ['letters', 'retention:letters-taken'],
  ['archives', 'retention:archives-taken'],
  ['objects', 'retention:objects-noted'],
  ['graph', 'removal:graph-gone'],
] as const;

async function letGo(url: string): Promise<void> {
  for (const [part] of points)
    await runJson('retention', 'run', part, '--max-bytes', '0', '--yes', '--url', url);
}

describe('a retention that is killed', () => {
  for (const [part, point] of points)
    it(`in the middle of its ${part} ends the same when it is run again (P4, P10)`, async () => {
      await withTemporaryDirectory(async (root) => {
        await makeLabRoot(root);
        const env = { MILLRACE_QUEUE__ARCHIVE: 'true' };
        const killed = await startDaemon({
          root,
          env: { ...env, MILLRACE_FAILPOINTS: `${point}=crash` },
        });
        for (const session of sessions) await postLines(killed.url, oldEvents(session));
        await waitUntilIdle(killed.url);
        await runJson('dead', 'discard', '--workspace', 'w', '--yes', '--url', killed.url);
        await expect(letGo(killed.url)).rejects.toThrow();
        await killed.exited();
        const daemon = await startDaemon({ root, env });
        try {
          const { url } = daemon;
          const waiting = async (): Promise<string> => {
            const status = await getJson(url, '/v1/status');
            return JSON.stringify((status as { degraded: unknown }).degraded);
          };
          await expect.poll(waiting).toBe('[]');
          await letGo(url);
          expect(await readDigest(url)).toMatchObject({ nodes: 0, edges: 0 });
          expect(await readBooks(url)).toMatchObject({ accepted: 0, dead: 0, residual: 0 });
          expect(objectsOf(root)).toEqual([]);
          expect(queueFiles(root, /archive\.|dead\./)).toEqual([]);
        } finally {
          expect(await daemon.stop()).toBe(0);
        }
        expect(await runJson('queue', 'verify', '--root', root)).toMatchObject({ ok: true });
      });
    });
});
