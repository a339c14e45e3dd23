import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { FencePermit } from '#fence';
import { openFilesystemQueue } from '#queue-backends/filesystem';
import { openLmdbState } from '#state';
import { smallLimits } from '../support/filesystem-queue.ts';
import { testRecord } from '../support/queue-fixtures.ts';
import { startDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import { postLines, readBooks, readDigest, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { readText } from '../tidy/source-tree.ts';

/** The commands of the page, each with what it prints: `$ millrace …` and the lines up to the next one. */
const transcript = [...readText('docs/recovery.md').matchAll(/```console\n([\s\S]*?)```/g)]
  .flatMap(([, block = '']) => block.split(/^\$ /m).slice(1))
  .map((part) => {
    const [command = '', ...lines] = part.trimEnd().split('\n');
    return { command, printed: lines.join('\n') };
  });

const sessions = ['torn', 'lost', 'kept', 'gone', 'well'];

function bodies(session: string, from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) =>
    JSON.stringify({
      event: 'note',
      workspace: 'demo',
      data: { session_id: session, timestamp: `2026-01-01T00:00:0${from + at}Z`, n: from + at },
    }),
  );
}

function fileOf(root: string, session: string, name: string): string {
  const shard = createHash('sha256').update(`demo~${session}`).digest('hex').slice(0, 2);
  return join(root, 'queue/sessions', shard, `demo~${session}`, name);
}

async function flip(path: string, text: string): Promise<void> {
  const bytes = await readFile(path);
  const at = bytes.indexOf(text);
  if (at < 0) throw new Error(`${text} does not stand in ${path}`);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** What differs from run to run, and the widths of columns, are no part of what the page says. */
function plain(text: string, root: string): string {
  return text
    .replaceAll(root, '/srv/millrace')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\d{8}T\d{9}Z\.[0-9a-f]{8}/g, 'STAMP')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/its checksum is [0-9a-z]+, its content has [0-9a-f]+/g, 'its checksum is wrong')
    .replaceAll(/ +/g, ' ')
    .trimEnd();
}

/** Records that were accepted and never drained: what a daemon leaves that was stopped while its graph was away. */
async function leaveWaiting(root: string): Promise<void> {
  const marker = JSON.parse(await readFile(join(root, 'root.json'), 'utf8')) as {
    readonly storage_root_id: string;
  };
  const rootId = marker.storage_root_id;
  const permit = FencePermit.issue(`daemon:${rootId}`, 1000, 'test', () => true);
  const directory = join(root, 'state');
  const state = await openLmdbState({ directory, permit, chance: systemChance });
  const queue = await openFilesystemQueue({
    directory: join(root, 'queue'),
    disk: nodeDisk(),
    names: stagingNames(process.pid, systemChance),
    clock: systemClock,
    chance: systemChance,
    permit,
    state,
    rootId,
    limits: smallLimits,
    fsync: 'group',
    lockWarnMs: 2000,
  });
  const records = [2, 3, 4].map((n) => {
    const data = { session_id: 'torn', timestamp: `2026-01-01T00:00:0${n}Z`, n };
    return testRecord({
      workspace: 'demo',
      session: 'torn',
      event: 'note',
      principal: 'local',
      data,
    });
  });
  await queue.append(records.map((record) => ({ ...record, mayWriteForeign: true })));
  await queue.close();
  await state.close();
}

/** A first life, and the damage that the page tells of; returns the digest of its graph. */
async function damage(root: string, args: readonly string[]): Promise<void> {
  const daemon = await startDaemon({ root, args });
  for (const session of sessions) await postLines(daemon.url, bodies(session, 0, 2));
  for (const session of sessions.slice(1)) await postLines(daemon.url, bodies(session, 2, 3));
  await waitUntilIdle(daemon.url);
  await daemon.stop();
  await leaveWaiting(root);
  await flip(fileOf(root, 'torn', 'log.000000.jsonl'), '"n":3');
  const kept = fileOf(root, 'kept', 'offset.json');
  await writeFile(`${kept}.restored`, await readFile(kept));
  await writeFile(kept, '12x');
  await writeFile(fileOf(root, 'lost', 'offset.json'), '');
  await writeFile(fileOf(root, 'gone', 'offset.json'), Buffer.alloc(300));
}

describe('docs/recovery.md', () => {
  it(
    'tells the truth: each of its commands, run on a root with this damage, prints what the page says (P7, SC-006, SC-009, D31)',
    { timeout: 120_000 },
    async () => {
      await withTemporaryDirectory(async (root) => {
        const args = ['--log-level', 'error'];
        await damage(root, args);
        const daemon = await startDaemon({ root, args });
        try {
          expect(await postLines(daemon.url, bodies('gone', 5, 2))).toBe(202);
          await expect.poll(async () => (await readStopped(daemon.url)).length).toBe(4);
          const { digest: before } = await readDigest(daemon.url);
          for (const { command, printed } of transcript) {
            if (command.includes(' queue ')) await waitUntilIdle(daemon.url);
            const words = command.replace(/^millrace /, '').split(' ');
            const { out, err } = await runLine(...words, '--url', daemon.url);
            const shown = plain([out, err].filter((text) => text !== '').join('\n'), root);
            expect(shown, command).toBe(plain(printed, root));
          }
          await waitUntilIdle(daemon.url);
          const { digest } = await readDigest(daemon.url);
          // One record of "torn" has come; folding three sessions again has changed nothing.
          expect(digest).not.toBe(before);
          expect(await replayed(daemon.url), 'nothing was told to the graph twice').toBe(digest);
          const books = await readBooks(daemon.url);
          expect(books).toMatchObject({ accepted: 27, applied: 24, dead: 3, residual: 0 });
          expect(await daemon.stop()).toBe(0);
        } finally {
          await daemon.kill();
        }
        const again = await startDaemon({ root, args });
        try {
          await waitUntilIdle(again.url);
          expect(await readStopped(again.url)).toEqual([]);
          expect(await readBooks(again.url)).toMatchObject({ accepted: 27, dead: 3, residual: 0 });
        } finally {
          await again.kill();
        }
      });
    },
  );
});

/** The digest after one more session was folded again from its beginning. */
async function replayed(url: string): Promise<string> {
  await runLine('queue', 'replay', 'kept', '--yes', '--url', url);
  await waitUntilIdle(url);
  return (await readDigest(url)).digest;
}

async function readStopped(url: string): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/v1/quarantine`);
  return ((await answer.json()) as { readonly quarantine: readonly unknown[] }).quarantine;
}
