import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import { postLines, readBooks, readDigest, waitUntilIdle } from '../support/daemon-client.ts';
import { childEvents, objectsOf, parentEvents } from '../support/deleted-session.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-delete-'));
const root = join(folder, 'root');
let daemon: ChildDaemon;

beforeAll(async () => {
  daemon = await startDaemon({ root });
});

afterAll(async () => {
  await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

it('deletes a session whole: the graph, books and objects are those of a root that never met it (P4, P12)', async () => {
  const at = ['--url', daemon.url];
  await postLines(daemon.url, parentEvents);
  await waitUntilIdle(daemon.url);
  const before = { ...(await readDigest(daemon.url)), objects: objectsOf(root).length };
  await postLines(daemon.url, childEvents);
  await waitUntilIdle(daemon.url);
  const whole = await readDigest(daemon.url);
  const tried = await runJson('sessions', 'delete', 'child', ...at);
  expect(tried).toMatchObject({
    dry_run: true,
    removed: null,
    sessions: [{ session_id: 'child', accepted: 5, dead: 1, objects: 2, refused: null }],
  });
  expect(await readDigest(daemon.url)).toEqual(whole);
  const words = ['sessions', 'delete', 'child'];
  const wrong = await runLine(...words, '--confirm', 'w~parent', ...at);
  expect(wrong.code).toBe(1);
  expect(wrong.err).toContain('SELECTION_CHANGED');
  expect(await readDigest(daemon.url)).toEqual(whole);
  const done = await runJson(...words, '--confirm', 'w~child', ...at);
  expect(done).toMatchObject({ dry_run: false, count: 1, removed: { objects: 1 } });
  expect((await readDigest(daemon.url)).digest).toBe(before.digest);
  expect(objectsOf(root)).toHaveLength(before.objects);
  expect(await readBooks(daemon.url)).toMatchObject({ accepted: 3, dead: 0, residual: 0 });
  const unknown = await runLine('sessions', 'show', 'child', ...at);
  expect(unknown.err).toContain('SESSION_UNKNOWN');
  const folders = readdirSync(join(root, 'queue', 'sessions'), {
    recursive: true,
    encoding: 'utf8',
  });
  expect(folders.filter((name) => name.includes('child'))).toEqual([]);
  const audit = await runJson<{ audit: readonly { verb: string }[] }>('audit', 'list', ...at);
  expect(audit.audit[0]).toMatchObject({ verb: 'sessions delete', outcome: 'done', count: 1 });
  // Who lost the answer, and asks again, is told that it is done; who means a session that never was, that there is none.
  const again = await runJson(...words, '--yes', ...at);
  expect(again).toMatchObject({ count: 0, deleted_before: expect.stringMatching(/Z$/) });
  expect((await runLine(...words, ...at)).code).toBe(1);
  expect((await runLine('sessions', 'delete', 'nobody', '--yes', ...at)).code).toBe(1);
  await postLines(daemon.url, childEvents);
  await waitUntilIdle(daemon.url);
  expect((await readDigest(daemon.url)).digest).toBe(whole.digest);
});

it('takes the sessions below it with it where it is asked to', async () => {
  const at = ['--url', daemon.url];
  const words = ['sessions', 'delete', 'parent', '--with-sub-sessions', ...at];
  const tried = await runJson<{ sessions: readonly { session_id: string }[] }>(...words);
  expect(tried.sessions.map(({ session_id }) => session_id)).toEqual(['parent', 'child']);
  expect((await runLine(...words)).out).toContain('say --yes');
  await runJson(...words, '--yes');
  expect(await readBooks(daemon.url)).toMatchObject({ accepted: 0, residual: 0 });
  expect(await readDigest(daemon.url)).toMatchObject({ nodes: 0, edges: 0 });
  expect(objectsOf(root)).toEqual([]);
});

it('prunes sessions by the age of their last event, and shows first what would go', async () => {
  const at = ['--url', daemon.url];
  const started = (session: string, timestamp: string): string =>
    JSON.stringify({
      event: 'session:start',
      workspace: 'old',
      data: { session_id: session, timestamp },
    });
  const today = new Date().toISOString();
  await postLines(daemon.url, [
    started('aged-2', '2020-01-02T00:00:00Z'),
    started('aged-1', '2020-01-01T00:00:00Z'),
    started('fresh', today),
  ]);
  await waitUntilIdle(daemon.url);
  const words = ['sessions', 'prune', '--older-than', '365d', '--workspace', 'old', ...at];
  const tried = await runJson<{ sessions: readonly { session_id: string }[] }>(...words);
  expect(tried).toMatchObject({ dry_run: true, count: 2, skipped: [], has_more: false });
  expect(tried.sessions.map(({ session_id }) => session_id)).toEqual(['aged-1', 'aged-2']);
  expect((await runLine(...words, '--limit', '1')).out).toContain('there are more');
  expect(await runJson(...words, '--yes')).toMatchObject({ dry_run: false, count: 2 });
  expect(await runJson(...words)).toMatchObject({ count: 0 });
  expect(await runJson('sessions', 'show', 'fresh', ...at)).toMatchObject({ accepted: 1 });
  expect((await runLine('sessions', 'show', 'aged-1', ...at)).code).toBe(1);
  expect((await runLine('sessions', 'prune', '--older-than', 'long', ...at)).code).toBe(2);
  await runJson('sessions', 'delete', 'fresh', '--yes', ...at);
});

interface Given {
  readonly freed_bytes: number;
  readonly components: readonly { name: string; before: number; after: number }[];
}

interface Storage {
  readonly storage: Readonly<Record<string, number>> | null;
}

it('gives the disk back that its sessions took, and status tells what each component takes (P5)', async () => {
  const at = ['--url', daemon.url];
  const bulk = Array.from({ length: 200 }, (_, at) =>
    JSON.stringify({
      event: 'prompt:submit',
      workspace: 'w',
      data: {
        session_id: 'bulk',
        timestamp: `2026-05-01T10:${String(at % 60).padStart(2, '0')}:00Z`,
        prompt: `${at} ${'y'.repeat(10_000)}`,
      },
    }),
  );
  await postLines(daemon.url, bulk);
  await waitUntilIdle(daemon.url);
  await runJson('sessions', 'delete', 'bulk', '--yes', ...at);
  const before = await readDigest(daemon.url);
  const given = await runJson<Given>('vacuum', ...at);
  expect(given).toMatchObject({
    components: [{ name: 'queue' }, { name: 'control' }, { name: 'graph' }],
  });
  expect(given.freed_bytes).toBeGreaterThan(1_000_000);
  const graph = given.components.find(({ name }) => name === 'graph');
  expect(graph?.after).toBeLessThan((graph?.before ?? 0) / 2);
  expect(await readDigest(daemon.url)).toEqual(before);
  await postLines(daemon.url, bulk.slice(0, 2));
  await waitUntilIdle(daemon.url);
  await runJson('sessions', 'delete', 'bulk', '--yes', ...at);
  await expect
    .poll(async () => (await runJson<Storage>('status', ...at)).storage)
    .toMatchObject({ queue: expect.any(Number), graph: expect.any(Number) });
  const { storage } = await runJson<Storage>('status', ...at);
  for (const component of ['queue', 'graph', 'state', 'control'])
    expect(storage?.[component], component).toBeGreaterThan(0);
});

it('is for tokens with ops:write that may use the workspace, and no other', async () => {
  const { url } = daemon;
  await postLines(url, parentEvents);
  await waitUntilIdle(url);
  const token = async (name: string, ...more: string[]): Promise<string> =>
    (await runJson<{ token: string }>('tokens', 'add', name, ...more, '--url', url)).token;
  const ops = await token('ops', '--scope', 'ops:write', 'ops:read', 'ingest:read');
  const asOps = ['--token', ops];
  const reader = await token('reader', '--scope', 'ops:read', ...asOps);
  const other = await token('other', '--scope', 'ops:write', '--workspace', 'v', ...asOps);
  const status = async (secret: string): Promise<number> =>
    (
      await fetch(`${url}/v1/sessions/parent`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${secret}` },
      })
    ).status;
  expect(await status(reader)).toBe(403);
  expect(await status(other)).toBe(404);
  expect(await status(ops)).toBe(200);
});
