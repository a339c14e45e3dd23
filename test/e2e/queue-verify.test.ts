import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import { postLines, readBooks, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { makeWorkload } from '../support/workload.ts';

interface Verified {
  readonly ok: boolean;
  readonly live: boolean;
  readonly sessions: number;
  readonly records: number;
  readonly pending: number;
  readonly findings: number;
  readonly root_findings: readonly unknown[];
  readonly keys: readonly {
    readonly key: string;
    readonly findings: readonly { code: string }[];
  }[];
}

/** A root with what a few sessions leave, its daemon killed. */
async function withKilledRoot(
  use: (root: string, accepted: number) => Promise<void>,
): Promise<void> {
  await withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root });
    try {
      // No session ends: the log of one that has is taken away.
      for (const { bodies } of makeWorkload({ seed: 5, sessions: 3, turns: 1, eventsPerBatch: 50 }))
        expect(await postLines(daemon.url, bodies.filter(isNoEnd))).toBe(202);
      await waitUntilIdle(daemon.url);
      const { accepted } = await readBooks(daemon.url);
      const live = await runLine('queue', 'verify', '--root', root);
      expect(live.code, live.out).toBe(0);
      expect(live.err).toContain(`pid ${daemon.pid}`);
      await daemon.kill();
      await use(root, accepted);
    } finally {
      await daemon.kill();
    }
  });
}

function isNoEnd(body: string): boolean {
  return !body.includes('"session:end"');
}

async function someLog(root: string): Promise<string> {
  const sessions = join(root, 'queue', 'sessions');
  const names = await readdir(sessions, { recursive: true });
  const log = names.find((name) => name.endsWith('log.000000.jsonl'));
  if (log === undefined) throw new Error('no session has a log yet');
  return join(sessions, log);
}

/** Every file of a root with its bytes, but for the index that SQLite keeps of a log. */
async function filesOf(root: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of (await readdir(root, { recursive: true })).toSorted()) {
    const path = join(root, name);
    if (name.endsWith('-shm') || !(await stat(path)).isFile()) continue;
    found.set(name, (await readFile(path)).toString('base64'));
  }
  return found;
}

/** Codes of the whole and of the sessions. */
async function codesOf(root: string): Promise<readonly string[]> {
  const told = await runLine('queue', 'verify', '--root', root, '--json');
  const { root_findings: ofRoot, keys } = JSON.parse(told.out) as Verified;
  const all = [...ofRoot, ...keys.flatMap(({ findings }) => findings)] as { code: string }[];
  const codes = all.map(({ code }) => code).filter((code) => code.startsWith('graph'));
  expect(told.code).toBe(codes.some((code) => code !== 'graph_uncompared') ? 1 : 0);
  return codes;
}

const harms: readonly (readonly [what: string, sql: string, codes: readonly string[]])[] = [
  ['lost a row', 'DELETE FROM applied_row WHERE key = $key', ['graph_differs']],
  [
    'has another record',
    "UPDATE applied_row SET sha256 = 'f' || substr(sha256, 2, 62) || 'z' WHERE key = $key",
    ['graph_differs'],
  ],
  [
    'holds more than the log',
    "UPDATE applied_row SET position = substr(position, 1, 9) || 'ff' || substr(position, 12) WHERE key = $key",
    ['graph_differs'],
  ],
  [
    'holds less than a commit relied on',
    "UPDATE applied_row SET position = substr(position, 1, 9) || '00000000000001' || substr(position, 24) WHERE key = $key",
    ['graph_differs'],
  ],
  [
    'belongs to another root',
    "UPDATE applied_row SET root_id = 'SR-other' WHERE key = $key",
    ['graph_differs'],
  ],
  [
    'is another one',
    "UPDATE meta SET value = 'x' WHERE name = 'graph_id' AND $key <> ''",
    ['graph_other'],
  ],
];

/** On copies of its database, each put in its place and taken away again. */
async function findsWhatIsWrongWithTheGraph(root: string): Promise<void> {
  const path = join(root, 'graph', 'graph.db');
  const kept = join(root, '..', `${root.split('/').at(-1)}-graph.db`);
  await rename(path, kept);
  try {
    expect(await codesOf(root)).toEqual(['graph_missing']);
    await writeFile(path, Buffer.alloc(8192, 0xa5));
    expect(await codesOf(root)).toEqual(['graph_damaged']);
    for (const [what, sql, codes] of harms) {
      await cp(kept, path);
      const database = new DatabaseSync(path);
      const row = database.prepare('SELECT key FROM applied_row ORDER BY key').get();
      expect(database.prepare(sql).run({ $key: String(row?.['key']) }).changes, what).toBe(1);
      database.close();
      expect(await codesOf(root), `a graph that ${what}`).toEqual(codes);
    }
    await writeFile(join(root, 'graph', 'neo4j.json'), '{}');
    expect(await codesOf(root)).toEqual(['graph_uncompared']);
    await rm(join(root, 'graph', 'neo4j.json'));
  } finally {
    await rename(kept, path);
  }
}

describe('millrace queue verify (ING-921, ING-922)', () => {
  it('says of a root of a killed daemon that it is clean, and of one byte that it is not (P10, P7)', () =>
    withKilledRoot(async (root, accepted) => {
      const clean = await runJson<Verified>('queue', 'verify', '--root', root, '--all');
      expect(clean).toMatchObject({ ok: true, live: false, findings: 0, pending: 0 });
      expect(clean.records).toBe(accepted);
      // A start and a stop in order carry everything into the session files.
      const again = await startDaemon({ root });
      expect(await again.stop()).toBe(0);
      const stopped = await runJson<Verified>('queue', 'verify', '--root', root, '--all');
      expect(stopped).toMatchObject({ ok: true, records: accepted, sessions: clean.sessions });
      expect(stopped.keys).toHaveLength(clean.sessions);
      const before = await filesOf(root);
      expect(await codesOf(root)).toEqual([]);
      expect(await filesOf(root)).toEqual(before);
      await findsWhatIsWrongWithTheGraph(root);
      expect(await filesOf(root)).toEqual(before);
      const path = await someLog(root);
      const bytes = await readFile(path);
      bytes[20] = (bytes[20] ?? 0) ^ 0x01;
      await writeFile(path, bytes);
      const text = await runLine('queue', 'verify', '--root', root);
      expect(text.code).toBe(1);
      expect(text.out).toMatch(
        /^finding line_corrupt sessions\/.*\/log\.000000\.jsonl bytes 0 to \d+: /m,
      );
      const json = await runLine('queue', 'verify', '--root', root, '--json');
      expect(json.code).toBe(1);
      const { keys, ok } = JSON.parse(json.out) as Verified;
      expect(ok).toBe(false);
      expect(keys.map(({ findings }) => findings.map(({ code }) => code))).toEqual([
        ['line_corrupt'],
      ]);
    }));

  it('ends with 74 where the root itself cannot be read', () =>
    withTemporaryDirectory(async (folder) => {
      const root = join(folder, 'root');
      const absent = await runLine('queue', 'verify', '--root', root);
      expect(absent.code).toBe(74);
      expect(absent.err.match(/cannot be verified/g)).toHaveLength(1);
      const daemon = await startDaemon({ root });
      await daemon.stop();
      const marker = join(root, 'root.json');
      const was = await readFile(marker, 'utf8');
      await writeFile(marker, was.replace('"format": 1', '"format": 9'));
      const newer = await runLine('queue', 'verify', '--root', root, '--json');
      expect(newer.code).toBe(74);
      expect(JSON.parse(newer.out)).toMatchObject({ error: { code: 'VERIFY_IMPOSSIBLE' } });
      await writeFile(marker, was);
      await rm(join(root, 'queue', 'format.json'));
      const without = await runLine('queue', 'verify', '--root', root);
      expect([without.code, without.err]).toEqual([74, expect.stringContaining('format.json')]);
    }));
});
