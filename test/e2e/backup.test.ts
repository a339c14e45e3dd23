import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { makeWorkload, type WorkloadBatch } from '../support/workload.ts';
import { listFiles, readText } from '../tidy/source-tree.ts';

/** Small segments, so that a checkpoint and a roll fall into the backup. */
const args = ['--set', 'queue.segment_bytes=64KiB', '--log-level', 'warn'];
const batches = makeWorkload({ seed: 23, sessions: 10, turns: 12, eventsPerBatch: 5 });

interface Made {
  readonly backup_id: string;
  readonly files: number;
  readonly books: { readonly accepted: number; readonly applied: number };
  readonly graph: { readonly digest: string };
}

/** Posts on from `from`, in order, until it is told to stop; how far it came. */
async function postUntil(
  daemon: ChildDaemon,
  from: number,
  isOver: () => boolean,
): Promise<number> {
  for (let at = from; at < batches.length; at++) {
    if (isOver()) return at;
    expect(await postLines(daemon.url, batches[at]?.bodies ?? [])).toBe(202);
  }
  return batches.length;
}

interface SessionRow {
  readonly session_id: string;
  readonly accepted: number;
}

/** The first events of each session, as many as a root has accepted, applied by a daemon that nothing happens to. */
async function digestOfFirst(sessions: readonly SessionRow[]): Promise<Digest> {
  const left = new Map(sessions.map(({ session_id, accepted }) => [session_id, accepted]));
  return withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root, args });
    try {
      for (const { session, bodies } of batches) {
        const count = Math.min(left.get(session) ?? 0, bodies.length);
        left.set(session, (left.get(session) ?? 0) - count);
        if (count > 0) expect(await postLines(daemon.url, bodies.slice(0, count))).toBe(202);
      }
      await waitUntilIdle(daemon.url);
      return await readDigest(daemon.url);
    } finally {
      await daemon.kill();
    }
  });
}

async function postAll(daemon: ChildDaemon, all: readonly WorkloadBatch[]): Promise<void> {
  for (const { bodies } of all) expect(await postLines(daemon.url, bodies)).toBe(202);
  await waitUntilIdle(daemon.url);
}

describe('a backup taken under load', () => {
  let place: string;
  let backup: string;
  let made: Made;
  let postedDuring = 0;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'millrace-backup-'));
    backup = join(place, 'saved');
    const root = join(place, 'root');
    await makeLabRoot(root);
    const daemon = await startDaemon({ root, args });
    try {
      let posted = 0;
      const begun = await postUntil(daemon, 0, () => ++posted > 60);
      let isDone = false;
      const posting = postUntil(daemon, begun, () => isDone);
      made = await runJson<Made>('backup', 'create', backup, '--url', daemon.url);
      isDone = true;
      postedDuring = (await posting) - begun;
      await waitUntilIdle(daemon.url);
      expect((await readBooks(daemon.url)).residual).toBe(0);
    } finally {
      await daemon.kill();
    }
  }, 120_000);

  afterAll(() => rm(place, { recursive: true, force: true }));

  it('was taken while events were accepted', () => {
    expect(postedDuring).toBeGreaterThan(0);
    expect(made.books.accepted).toBeGreaterThan(0);
  });

  it('is restored, killed at each step of its first start, and has what was there at the instant (P1, P4, P5, ING-T44, C41)', async () => {
    const root = join(place, 'restored');
    const restored = await runJson<{ root_id: string; saved_from: string }>(
      'backup',
      'restore',
      backup,
      '--root',
      root,
    );
    expect(restored.root_id).not.toBe(restored.saved_from);
    for (const point of ['adopt:ids-forgotten', 'adopt:rows-set', 'adopt:before-format']) {
      const env = { MILLRACE_FAILPOINTS: `${point}=crash` };
      const { code } = await startAndWaitForEnd(root, env);
      expect(code, `${point} was never reached`).toBeNull();
      expect(await readFile(join(root, 'queue', 'format.json'), 'utf8')).toContain('restored');
    }
    const daemon = await startDaemon({ root, args });
    try {
      await waitUntilIdle(daemon.url);
      const books = await readBooks(daemon.url);
      const { accepted } = made.books;
      expect(books, daemon.output()).toMatchObject({ accepted, applied: accepted, residual: 0 });
      const { sessions } = await getJson<{ sessions: readonly SessionRow[] }>(
        daemon.url,
        '/v1/sessions?limit=100',
      );
      expect(await readDigest(daemon.url)).toEqual(await digestOfFirst(sessions));
      expect(await readFile(join(root, 'queue', 'format.json'), 'utf8')).not.toContain('restored');
      // Clients send again what they do not know to be there: nothing comes twice, nothing is missing.
      await postAll(daemon, batches);
      expect(await readBooks(daemon.url)).toMatchObject({ residual: 0, pending: 0, dead: 0 });
      expect(await readDigest(daemon.url)).toEqual(await digestOfAll());
      expect(await daemon.stop()).toBe(0);
    } finally {
      await daemon.kill();
    }
  }, 180_000);

  it('stands the drill: digest and books are those of the manifest, residual 0 (FEN-709)', async () => {
    const drill = await runJson<{ ok: boolean; drill: { digest: string; drained: object } }>(
      'backup',
      'verify',
      backup,
      '--drill',
      '--work',
      place,
    );
    expect(drill).toMatchObject({ ok: true, findings: [] });
    expect(drill.drill.digest).toBe(made.graph.digest);
    expect(drill.drill.drained).toMatchObject({ residual: 0, pending: 0 });
  }, 60_000);

  it('is refused by the name of the file that was tampered with, cut or taken away (P11)', async () => {
    const whole = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')) as {
      files: readonly { name: string; bytes: number }[];
    };
    const log = whole.files.find(({ name }) => name.endsWith('.jsonl'))?.name ?? '';
    for (const [what, harm] of [
      ['has other content', () => flip(join(backup, log))],
      ['bytes instead of', () => truncate(join(backup, log), 3)],
      ['is missing', () => unlink(join(backup, log))],
    ] as const) {
      const before = await readFile(join(backup, log));
      await harm();
      const verified = await runLine('backup', 'verify', backup, '--json');
      expect(verified.code, what).toBe(74);
      expect(verified.out).toContain(log);
      expect(verified.out).toContain(what);
      const to = join(place, 'never');
      const restored = await runLine('backup', 'restore', backup, '--root', to);
      expect(restored).toMatchObject({ code: 74 });
      expect(restored.err).toContain(log);
      await writeFile(join(backup, log), before);
    }
    await writeFile(join(backup, 'stranger'), 'x');
    expect((await runLine('backup', 'verify', backup)).out).toContain('stranger is not in');
    await unlink(join(backup, 'stranger'));
    expect((await runLine('backup', 'verify', backup)).code).toBe(0);
  }, 60_000);

  it('is not taken for one when its manifest is missing, cut or of a later version', async () => {
    const path = join(backup, 'manifest.json');
    const before = await readFile(path, 'utf8');
    for (const text of [
      before.slice(0, 300),
      before.replace('"accepted": ', '"accepted": 1'),
      '{}',
    ])
      await writeFile(path, text).then(async () => {
        expect((await runLine('backup', 'verify', backup)).err).toContain('BACKUP_UNREADABLE');
      });
    await writeFile(path, before.replace('"format": 1', '"format": 99'));
    expect((await runLine('backup', 'verify', backup)).err).toContain('FORMAT_TOO_NEW');
    await unlink(path);
    const restored = await runLine('backup', 'restore', backup, '--root', join(place, 'none'));
    expect(restored.err).toContain('BACKUP_UNREADABLE');
    await writeFile(path, before);
  });

  it('is written where nothing is, outside the root, and restored into an empty folder only', async () => {
    const root = join(place, 'root');
    expect((await runLine('backup', 'create', backup, '--root', root)).err).toContain(
      'BACKUP_PATH_REFUSED',
    );
    const inside = await runLine('backup', 'create', join(root, 'in'), '--root', root);
    expect(inside.err).toContain('it lies in the root');
    expect((await runLine('backup', 'restore', backup, '--root', root)).err).toContain(
      'ROOT_FOREIGN',
    );
  }, 60_000);

  it('is made of a stopped root too, with its lock held', async () => {
    const path = join(place, 'offline');
    const offline = await runJson<Made>('backup', 'create', path, '--root', join(place, 'root'));
    expect(offline.books.accepted).toBeGreaterThan(made.books.accepted);
    expect((await runLine('backup', 'verify', path, '--drill', '--work', place)).code).toBe(0);
  }, 60_000);
});

let wholeDigest: Digest | undefined;
async function digestOfAll(): Promise<Digest> {
  wholeDigest ??= await withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root, args });
    try {
      await postAll(daemon, batches);
      return await readDigest(daemon.url);
    } finally {
      await daemon.kill();
    }
  });
  return wholeDigest;
}

/** Ready or not: it dies by itself. */
async function startAndWaitForEnd(
  root: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null }> {
  return runDaemonToItsEnd({ root, args, env });
}

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

describe('a daemon that is killed while it makes a backup', () => {
  const points = listFiles('src')
    .filter((path) => path.startsWith('src/backup/create'))
    .flatMap((path) =>
      [...readText(path).matchAll(/\bfailpoint\('([^']+)'\)/g)].map((match) => match[1] ?? ''),
    );

  for (const point of points)
    it(`leaves nothing that is taken for one, at ${point}, and makes the next one in its place`, async () => {
      await withTemporaryDirectory(async (folder) => {
        const root = join(folder, 'root');
        const path = join(folder, 'saved');
        await makeLabRoot(root);
        const env = { MILLRACE_FAILPOINTS: `${point}=crash` };
        const daemon = await startDaemon({ root, args, env });
        await postAll(daemon, batches.slice(0, 10));
        expect((await runLine('backup', 'create', path, '--url', daemon.url)).code).not.toBe(0);
        expect(await daemon.exited()).toBeNull();
        expect((await runLine('backup', 'verify', path)).err).toContain('BACKUP_UNREADABLE');
        const next = await startDaemon({ root, args });
        await runJson('backup', 'create', path, '--url', next.url);
        await next.kill();
        expect((await runLine('backup', 'verify', path)).code).toBe(0);
        expect(listNames(folder)).toEqual(['root', 'saved']);
      });
    });
});

function listNames(folder: string): readonly string[] {
  return readdirSync(folder).toSorted();
}
