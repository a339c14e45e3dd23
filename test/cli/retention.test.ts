import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
} from '../support/daemon-client.ts';
import { objectsOf } from '../support/deleted-session.ts';
import { oldEvents, queueFiles } from '../support/old-sessions.ts';

interface Run {
  readonly confirm: string;
  readonly count: number;
  readonly bytes: number;
  readonly taken_bytes: number;
  readonly items: readonly { readonly name: string; readonly bytes: number }[];
  readonly skipped: readonly { readonly name: string; readonly code: string }[];
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-retention-'));
const root = join(folder, 'root');
let daemon: ChildDaemon;
let young = '';

beforeAll(async () => {
  const env = { MILLRACE_QUEUE__ARCHIVE: 'true', MILLRACE_RETENTION__LETTERS__MAX_AGE: '3650d' };
  daemon = await startDaemon({ root, env });
  await postLines(daemon.url, oldEvents('young', '2026-11-20'));
  await waitUntilIdle(daemon.url);
  young = (await readDigest(daemon.url)).digest;
  for (const session of ['old-a', 'old-b']) await postLines(daemon.url, oldEvents(session));
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...words: readonly string[]): Promise<Run> =>
  runJson<Run>('retention', 'run', ...words, '--url', daemon.url);

it('says what is wrong with how it was asked, before it does anything', async () => {
  const at = ['--url', daemon.url];
  const bare = await runLine('retention', 'run', 'graph', '--older-than', '5', ...at);
  expect(bare.code).toBe(2);
  expect(bare.err).toContain('--older-than 5 has no unit: say 5d for days');
  expect((await runLine('sessions', 'prune', '--older-than', '5', ...at)).err).toContain('no unit');
  expect((await runLine('retention', 'run', 'all', ...at)).err).toContain('graph, objects');
  expect((await runLine('retention', 'run', 'graph', '--max-bytes', 'x', ...at)).code).toBe(2);
  const without = await runLine('retention', 'run', 'graph', ...at);
  expect(without.code).toBe(1);
  expect(without.err).toContain('RETENTION_RULE_MISSING');
  expect(await runJson('retention', 'show', ...at)).toMatchObject({
    rules: [{ part: 'letters', max_age_ms: 3650 * 86_400_000, taken: 0 }],
  });
});

it('lets archived logs go, exactly those that the dry run has named', async () => {
  const shown = await run('archives', '--max-bytes', '0', '--limit', '2');
  expect(shown).toMatchObject({ dry_run: true, count: 2, has_more: true });
  expect(queueFiles(root, /archive\./)).toHaveLength(3);
  const words = ['retention', 'run', 'archives', '--max-bytes', '0'];
  const other = await runLine(...words, '--confirm', shown.confirm, '--url', daemon.url);
  expect(other.err).toContain('SELECTION_CHANGED');
  expect(queueFiles(root, /archive\./)).toHaveLength(3);
  const done = await run(
    'archives',
    '--max-bytes',
    '0',
    '--limit',
    '2',
    '--confirm',
    shown.confirm,
  );
  expect(done.items).toEqual(shown.items);
  expect(queueFiles(root, /archive\./)).toHaveLength(1);
});

it('forgets dead letters that are settled, and no other', async () => {
  const none = await run('letters', '--max-bytes', '0', '--yes');
  expect(none).toMatchObject({ count: 0, skipped: [] });
  await runJson('dead', 'discard', '--session', 'old-a', '--yes', '--url', daemon.url);
  expect(await run('letters', '--max-bytes', '0')).toMatchObject({ count: 1, dry_run: true });
  expect(await run('letters', '--max-bytes', '0', '--yes')).toMatchObject({ count: 1 });
  const listed = await getJson(daemon.url, '/v1/dead-letters?retired=true');
  expect(listed).toMatchObject({
    dead_letters: [{ session_id: 'old-b' }, { session_id: 'young' }],
  });
  expect(await readBooks(daemon.url)).toMatchObject({ dead: 2, discarded: 1, residual: 0 });
});

it('takes large values away, oldest first, and says of each that it was no loss', async () => {
  const { bytes } = await run('objects', '--max-bytes', '1TiB');
  const keep = String(bytes - 1);
  const shown = await run('objects', '--max-bytes', keep);
  expect(shown.count).toBe(1);
  const before = await readDigest(daemon.url);
  await run('objects', '--max-bytes', keep, '--yes');
  expect(objectsOf(root)).toHaveLength(2);
  expect(await readDigest(daemon.url)).toEqual(before);
  const gone = await fetch(`${daemon.url}/v1/objects/${shown.items[0]?.name ?? ''}`);
  expect(gone.status).toBe(410);
  expect(await gone.json()).toMatchObject({ error: { code: 'OBJECT_EXPIRED' } });
});

it('deletes old sessions and leaves the graph as if they had never been, but none with an open dead letter (P4, P12)', async () => {
  const age = ['graph', '--older-than', '90d'];
  const shown = await run(...age);
  expect(shown.items.map(({ name }) => name)).toEqual(['w/old-a']);
  expect(shown.skipped).toEqual([{ name: 'w/old-b', code: 'SESSION_HAS_DEAD_LETTERS' }]);
  expect(shown.taken_bytes).toBeGreaterThan(500);
  expect(shown.bytes).toBeGreaterThan(shown.taken_bytes);
  await runJson('dead', 'discard', '--session', 'old-b', '--yes', '--url', daemon.url);
  expect(await run(...age, '--yes')).toMatchObject({ count: 2, skipped: [] });
  expect((await readDigest(daemon.url)).digest).toBe(young);
  expect(await readBooks(daemon.url)).toMatchObject({ accepted: 4, dead: 1, residual: 0 });
  const audit = await runJson<{ audit: readonly object[] }>('audit', 'list', '--url', daemon.url);
  expect(audit.audit[0]).toMatchObject({ verb: 'retention run', outcome: 'done', count: 2 });
});
