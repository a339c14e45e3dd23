import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import {
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Books,
  type Digest,
} from '../support/daemon-client.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import {
  legacyLetter,
  legacyLine,
  legacyLog,
  readFolder,
  writeFolder,
} from '../support/legacy-folder.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

interface Session {
  readonly name: string;
  readonly state: string;
  readonly offset: { readonly reason: string; readonly handled_to: number | null };
  readonly lines: number;
  readonly handled: number | null;
  readonly pending: number | null;
  readonly queued: number;
  readonly duplicates: number;
  readonly refused: number;
  readonly dead_lines: number;
  readonly letters_taken: number;
  readonly letters_known: number;
}

interface Report {
  readonly ok: boolean;
  readonly sessions: readonly Session[];
  readonly not_taken: readonly { readonly name: string }[];
  readonly totals: Readonly<Record<string, number>>;
}

interface Verified {
  readonly records: number;
  readonly pending: number;
  readonly dead: number;
}

interface Imported {
  readonly code: number;
  readonly report: Report;
  readonly err: string;
}

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

async function importInto(
  root: string,
  folder: string,
  ...words: readonly string[]
): Promise<Imported> {
  const ran = await runLine('queue', 'import', folder, '--root', root, '--json', ...words);
  return { code: ran.code, report: JSON.parse(ran.out) as Report, err: ran.err };
}

async function served<T>(root: string, use: (daemon: ChildDaemon) => Promise<T>): Promise<T> {
  const daemon = await startDaemon({ root });
  try {
    await waitUntilIdle(daemon.url);
    return await use(daemon);
  } finally {
    await daemon.stop();
  }
}

function look(root: string): Promise<{ books: Books; digest: Digest }> {
  return served(root, async ({ url }) => ({
    books: await readBooks(url),
    digest: await readDigest(url),
  }));
}

async function withPlaces(use: (root: string, folder: string) => Promise<void>): Promise<void> {
  await withTemporaryDirectory((place) => use(join(place, 'root'), join(place, 'queues')));
}

const lineBytes = (count: number): number => Buffer.byteLength(legacyLog('A', count));

describe('millrace queue import (QFS-24, ING-828)', () => {
  it('gives the graph that the same events give when they are posted, touches nothing of the source, and adds nothing the second time (P3, P4, P5, PQ-02)', () =>
    withPlaces(async (root, folder) => {
      const withKey = legacyLine({ more: { idempotency_key: 'k1' } });
      await writeFolder(folder, {
        'A.log': `${withKey}\n${legacyLog('A', 5, 1)}`,
        'A.offset': String(Buffer.byteLength(withKey) + 1 + lineBytes(2)),
        'B.log': legacyLog('B', 2),
        'C.log.torn-12.bin': 'x',
        '.writer.lease': '{}',
      });
      const before = await readFolder(folder);
      const { code, report } = await importInto(root, folder);
      expect(code).toBe(0);
      expect(report.sessions).toMatchObject([
        { name: 'A', lines: 6, handled: 3, pending: 3, queued: 6, duplicates: 0 },
        { name: 'B', handled: 0, pending: 2, queued: 2, offset: { reason: 'offset_missing' } },
      ]);
      expect(report.not_taken.map(({ name }) => name)).toEqual([
        '.writer.lease',
        'C.log.torn-12.bin',
      ]);
      expect(await readFolder(folder)).toEqual(before);
      const again = await importInto(root, folder);
      expect(again).toMatchObject({ code: 0, report: { totals: { queued: 0, duplicates: 8 } } });
      const digest = await served(root, async ({ url }) => {
        const before = await readDigest(url);
        // The client itself sends one of them again, late.
        const late = { created_by: undefined, idempotency_key: 'k1' };
        expect(await postLines(url, [legacyLine({ more: late })])).toBe(202);
        await waitUntilIdle(url);
        const books = { accepted: 8, applied: 8, pending: 0, duplicates: 9, residual: 0 };
        expect(await readBooks(url)).toMatchObject(books);
        expect(await readDigest(url)).toEqual(before);
        return before;
      });
      await withTemporaryDirectory(async (other) => {
        const direct = await served(other, async ({ url }) => {
          const files = ['A.log', 'B.log'].map((name) => join(folder, name));
          await runJson('post', ...files, '--url', url);
          await waitUntilIdle(url);
          return readDigest(url);
        });
        expect(direct).toEqual(digest);
      });
    }));

  it('counts known events as new with --reset-dedup (SC-018)', () =>
    withPlaces(async (root, folder) => {
      await writeFolder(folder, {
        'A.log': legacyLog('A', 3),
        'A.dead.jsonl': legacyLetter(legacyLine({ n: 1 })),
      });
      await importInto(root, folder);
      expect((await importInto(root, folder)).report.totals).toMatchObject({ queued: 0 });
      const reset = await importInto(root, folder, '--reset-dedup');
      expect(reset.report.totals).toMatchObject({ queued: 2, duplicates: 0, letters_taken: 1 });
      const { books } = await look(root);
      expect(books).toMatchObject({ accepted: 6, applied: 4, dead: 2, residual: 0 });
      expect((await importInto(root, folder)).report.totals).toMatchObject({ queued: 0 });
    }));

  it('is refused in one line while a daemon serves the root, tells a line that it does not take, and refuses a folder that is none (ING-311, ING-922)', () =>
    withPlaces(async (root, folder) => {
      await writeFolder(folder, { 'A.log': legacyLog('A', 1) });
      await served(root, async (daemon) => {
        const ran = await runLine('queue', 'import', folder, '--root', root);
        expect(ran.code).toBe(75);
        expect(ran.err).toContain(`pid ${daemon.pid}`);
        const own = await runLine(
          'queue',
          'import',
          join(root, 'queue'),
          '--root',
          join(root, '..', 'r2'),
        );
        expect([own.code, own.err]).toEqual([1, expect.stringContaining('millrace root')]);
      });
      await writeFolder(folder, { 'A.log': '\u001b[2J\0\n' });
      const damaged = await runLine('queue', 'import', folder, '--root', root);
      expect([damaged.code, damaged.err]).toEqual([1, expect.stringContaining('A.log:1 (byte 0)')]);
      // What stands in damaged bytes does not steer a terminal.
      for (const control of ['\u001b', '\0']) expect(damaged.err).not.toContain(control);
      const none = await runLine('queue', 'import', join(folder, 'nowhere'), '--root', root);
      expect([none.code, none.err]).toEqual([1, expect.stringContaining('LEGACY_FOLDER_INVALID')]);
    }));

  it('comes back out by export-legacy, which warns, writes over nothing, and can be imported again (ING-824)', () =>
    withPlaces(async (root, folder) => {
      const letter = legacyLetter(legacyLine({ n: 3 }));
      await writeFolder(folder, { 'A.log': legacyLog('A', 3), 'A.dead.jsonl': letter });
      await importInto(root, folder);
      const back = join(root, '..', 'back');
      const out = await runLine('queue', 'export-legacy', back, '--root', root);
      expect([out.code, out.err]).toEqual([0, expect.stringContaining('cursors are lost')]);
      const written = await readFolder(back);
      expect(Object.keys(written)).toEqual(['A.dead.jsonl', 'A.log', 'A.offset']);
      const twice = await runLine('queue', 'export-legacy', back, '--root', root);
      expect([twice.code, twice.err]).toEqual([1, expect.stringContaining('EXPORT_TARGET_EXISTS')]);
      expect(await readFolder(back)).toEqual(written);
      const { code, report } = await importInto(root, back);
      expect(code).toBe(0);
      expect(report.totals).toMatchObject({
        queued: 0,
        duplicates: 3,
        dead_lines: 1,
        letters_known: 1,
      });
    }));

  it.each([
    // In the middle of the first log; all is then as if nothing had happened.
    ['import:batch-accepted=crash@2', 1],
    // Between the record of a letter and its commit: it is an event that waits, and is applied.
    ['import:letters-appended=crash', 0],
  ])('killed at %s and done again takes every event once (P1, P3, P4)', (failpoints, expected) =>
    withPlaces(async (root, folder) => {
      await writeFolder(folder, {
        'A.log': legacyLog('A', 1200),
        'A.dead.jsonl': legacyLetter(legacyLine({ n: 5 })),
        'B.log': legacyLog('B', 600),
      });
      await makeLabRoot(root);
      const child = spawn(process.execPath, [program, 'queue', 'import', folder, '--root', root], {
        stdio: 'ignore',
        env: { ...process.env, MILLRACE_FAILPOINTS: failpoints },
      });
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      const again = await importInto(root, folder);
      expect(again.code).toBe(0);
      const { records, pending, dead } = await runJson<Verified>('queue', 'verify', '--root', root);
      expect({ records, pending, dead }).toEqual({ records: 1800, pending: 0, dead: expected });
    }),
  );
});
