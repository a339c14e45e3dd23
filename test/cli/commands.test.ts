import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verbCommands } from '../../src/cli/verbs/verb-table.ts';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import { postLines, waitUntilIdle, type Digest } from '../support/daemon-client.ts';

const program = join(import.meta.dirname, '../../bin/millrace.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
let daemon: ChildDaemon;

const event = (session: string, name: string, data: object = {}): string =>
  JSON.stringify({
    event: name,
    workspace: 'cli',
    data: { session_id: session, timestamp: '2026-05-01T10:00:00Z', ...data },
  });

const toolCall = { tool_name: 'read_file', tool_call_id: 'c1', tool_input: { file_path: '/a.ts' } };

beforeAll(async () => {
  daemon = await startDaemon({ root: join(folder, 'root') });
  await postLines(daemon.url, [
    event('s1', 'session:start'),
    event('s1', 'tool:pre', toolCall),
    event('s1', 'tool:post', { ...toolCall, result: { success: true } }),
  ]);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** A root that nobody serves. */
async function rootOf(name: string): Promise<string> {
  const root = join(folder, name);
  const marker = JSON.parse(await readFile(join(daemon.root, 'root.json'), 'utf8')) as object;
  await mkdir(root, { mode: 0o700 });
  const id = { storage_root_id: `SR-${'0'.repeat(31)}${name.length % 10}` };
  await writeFile(join(root, 'root.json'), JSON.stringify({ ...marker, ...id }));
  return root;
}

const at = (): readonly string[] => ['--url', daemon.url];

describe('help', () => {
  const lines = [
    ...verbCommands.map(({ words }) => words.split(' ').filter((word) => /^\w/.test(word))),
    ...['serve', 'post', 'wait', 'tail', 'top', 'doctor', 'version'].map((word) => [word]),
    ['graph', 'export'],
    ...['requeue', 'edit', 'discard', 'export'].map((word) => ['dead', word]),
  ];
  for (const words of lines)
    it(`of ${words.join(' ')} has examples and a --json`, async () => {
      const { code, out } = await runLine(...words, '--help');
      expect(code).toBe(0);
      expect(out).toContain('Examples:');
      if (words.join(' ') !== 'graph export') expect(out).toContain('--json');
    });

  it('says which verb was meant, with the exit code of a usage error', async () => {
    const { code, err } = await runLine('statsu');
    expect(code).toBe(2);
    expect(err).toContain('Did you mean status?');
    expect(err).toContain('Next: the same with --help');
    expect((await runLine('sessions', 'show')).code).toBe(2);
    expect((await runLine('graph', 'query', 'sessions', '-p', 'nonsense', ...at())).code).toBe(2);
    expect((await runLine('status', '--port', 'x')).code).toBe(2);
  });
});

describe('reading', () => {
  it('prints tables for people and one document with --json', async () => {
    const text = await runLine('sessions', 'list', ...at());
    expect(text.out).toMatch(/^WORKSPACE +SESSION_ID/);
    const json = await runJson<{ sessions: readonly object[] }>('sessions', 'list', ...at());
    expect(json.sessions).toContainEqual(expect.objectContaining({ session_id: 's1', applied: 3 }));
    expect(await runJson('sessions', 'show', 's1', ...at())).toMatchObject({ session_id: 's1' });
    expect(await runJson('status', ...at())).toMatchObject({
      residual: 0,
      version: expect.any(String),
    });
  });

  it('asks the graph by name, with parameters', async () => {
    const calls = await runJson<{ columns: readonly string[]; rows: readonly unknown[][] }>(
      'graph',
      'query',
      'tool-calls',
      '-p',
      'workspace=cli',
      ...at(),
    );
    expect(calls.rows.map((row) => row[calls.columns.indexOf('tool')])).toContain('read_file');
    const queries = await runLine('graph', 'query', ...at());
    expect(queries.out).toMatch(/timeline +session=… \[workspace=…\]/);
    const behind = await runLine('graph', 'query', 'timeline', 'session=s1', 'limit=1', ...at());
    expect(behind.out).toContain('session:start');
    expect(behind.out).toContain('more rows: give a higher limit=N');
    // An id of digits is an id.
    expect(await runLine('graph', 'query', 'timeline', 'session=17', ...at())).toMatchObject({
      code: 0,
      out: 'no rows',
    });
    const without = await runLine('graph', 'query', 'timeline', ...at());
    expect(without.err).toContain('Next: millrace graph query');
    const unknown = await runLine('graph', 'query', 'nonsense', ...at());
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('QUERY_UNKNOWN');
  });

  it('exports the canonical bytes of which the digest is the SHA-256 (D26)', async () => {
    const digest = await runJson<Digest>('graph', 'digest', ...at());
    const file = join(folder, 'graph.ndjson');
    expect((await runLine('graph', 'export', '--output', file, ...at())).code).toBe(0);
    const bytes = await readFile(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(digest.digest);
    expect((await runLine('graph', 'export', ...at())).out).toHaveLength(bytes.toString().length);
    const full = join(folder, 'no', 'such', 'folder');
    expect((await runLine('graph', 'export', '--output', full, ...at())).code).toBe(73);
  });

  it('tells the next step with an error, and the code as JSON', async () => {
    const unknown = await runLine('sessions', 'show', 'nobody', ...at());
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('Next: millrace sessions list');
    const json = await runLine('sessions', 'show', 'nobody', '--json', ...at());
    expect(JSON.parse(json.out)).toMatchObject({ error: { code: 'SESSION_UNKNOWN' } });
  });
});

describe('finding the daemon', () => {
  it('reads daemon.json of the root', async () => {
    expect(await runJson('status', '--root', daemon.root)).toMatchObject({ state: 'ready' });
    const { port } = new URL(daemon.url);
    expect(await runJson('status', '--port', port)).toMatchObject({ state: 'ready' });
  });

  it('never reaches the daemon of another root than the one that was named (B160)', async () => {
    const other = await rootOf('other');
    const words = ['sessions', 'delete', 's1', '--yes', '--json'];
    vi.stubEnv('MILLRACE_URL', daemon.url);
    const unserved = await runLine(...words, '--root', other);
    expect(unserved.code).toBe(69);
    expect(unserved.err).toContain(`no daemon serves ${other}`);
    expect((await runLine(...words, '--root', join(folder, 'nowhere'))).code).toBe(69);
    const beside = await runLine(...words, '--root', other, '--url', daemon.url);
    expect(beside.code).toBe(69);
    expect(beside.err).toContain(`the daemon at ${daemon.url} does not serve ${other}`);
    await writeFile(join(other, 'daemon.json'), JSON.stringify({ url: daemon.url }));
    expect((await runLine(...words, '--root', other)).err).toContain('ROOT_OTHER');
    vi.stubEnv('MILLRACE_ROOT', other);
    expect((await runLine(...words)).err).toContain('ROOT_OTHER');
    expect((await runLine('post', program)).err).toContain('ROOT_OTHER');
    vi.stubEnv('MILLRACE_ROOT', join(folder, 'of-another-machine'));
    expect((await runLine('status')).code).toBe(0);
    vi.unstubAllEnvs();
    const shown = await runJson('sessions', 'show', 's1', '--root', daemon.root, ...at());
    expect(shown).toMatchObject({ session_id: 's1', applied: 3 });
  });

  it('makes a token on the root itself where somebody else has the address of its killed daemon', async () => {
    const other = await rootOf('tokens');
    await writeFile(join(other, 'daemon.json'), JSON.stringify({ url: daemon.url }));
    expect(await runJson('tokens', 'add', 'ops', '--without-operator', '--root', other)).toEqual(
      expect.objectContaining({ token: expect.any(String) }),
    );
    expect(await runJson('tokens', 'list', ...at())).toMatchObject({ tokens: [] });
  });

  it('ends with 69 when nobody answers', async () => {
    const nobody = await runLine('status', '--url', 'http://127.0.0.1:9');
    expect(nobody.code).toBe(69);
    expect(nobody.err).toContain('millrace serve');
    expect((await runLine('post', program, '--url', 'http://127.0.0.1:9')).code).toBe(69);
  });
});

describe('posting', () => {
  it('tells bad lines with number and byte offset, keeps them apart, and sends the rest', async () => {
    const good = [event('p1', 'session:start'), event('p1', 'session:end')];
    const bad = ['{"event":', '{"event":"x","data":{"session_id":"p1","timestamp":"never"}}'];
    const file = join(folder, 'mixed.jsonl');
    await writeFile(file, [good[0], bad[0], '', bad[1], good[1]].join('\n'));
    const rejects = join(folder, 'rejects.jsonl');
    const ran = await runLine(
      'post',
      file,
      '--rejects',
      rejects,
      '--workspace',
      'cli',
      '--json',
      ...at(),
    );
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      files: [{ lines: 5, queued: 2, skipped: 1, rejected: 2 }],
    });
    const offset = Buffer.byteLength(`${good[0]}\n`);
    expect(ran.err).toContain(`${file}:2 (byte ${offset}): RECORD_NOT_JSON`);
    expect(ran.err).toContain(`${file}:4`);
    expect(await readFile(rejects, 'utf8')).toBe(`${bad.join('\n')}\n`);
  });

  it('reads standard input', () => {
    const words = [program, 'post', '-', '--json', ...at()];
    const out = execFileSync(process.execPath, words, {
      input: `${event('p2', 'session:start')}\n`,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    expect(JSON.parse(out)).toMatchObject({ files: [{ file: '-', queued: 1 }] });
  });

  it('takes a folder for the session files below it, and follows it with watch, which finds nothing new', async () => {
    const below = join(folder, 'projects/-home-dev-demo');
    await mkdir(below, { recursive: true });
    const row = (session: string): string =>
      `${JSON.stringify({ type: 'user', sessionId: session, timestamp: '2026-07-20T09:00:00Z', message: 'go' })}\n`;
    await writeFile(join(below, 'c1.jsonl'), row('c1'));
    await writeFile(join(below, 'c2.jsonl'), row('c2'));
    const posted = await runJson<{ total: object }>('post', join(folder, 'projects'), ...at());
    expect(posted.total).toMatchObject({ files: 2, lines: 2, queued: 6, rejected: 0 });
    const words = ['watch', join(folder, 'projects'), '--state', join(folder, 'watched'), '--once'];
    const [first, second] = [await runJson(...words, ...at()), await runJson(...words, ...at())];
    expect(first).toMatchObject({ files: 2, queued: 0, duplicates: 6 });
    expect(second).toMatchObject({ files: 0, queued: 0, duplicates: 0 });
    const absent = await runLine('watch', join(folder, 'absent'), '--once', ...at());
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining('INPUT_UNREADABLE')]);
  });

  it('tells lines of one reason a few times, and what they are where that can be told', async () => {
    const file = join(folder, 'foreign.jsonl');
    const message = JSON.stringify({ role: 'user', content: 'hello' });
    const metrics = JSON.stringify({ resourceMetrics: [] });
    await writeFile(file, [...Array.from({ length: 9 }, () => message), metrics].join('\n'));
    const ran = await runLine('post', file, ...at());
    expect(ran.code).toBe(1);
    expect(ran.err.split('\n')).toHaveLength(5);
    expect(ran.err).toContain(
      'a message of a transcript and no event; of Amplifier post events.jsonl',
    );
    expect(ran.err).toContain('metrics are not kept');
    expect(ran.err).toContain('6 more lines refused; --rejects FILE keeps them');
  });

  it('says so where a folder has no file that it takes', async () => {
    const bare = join(folder, 'bare');
    await mkdir(bare);
    await writeFile(join(bare, 'spans.json'), '{}');
    const ran = await runLine('post', bare, ...at());
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('no .jsonl file lies below')]);
  });

  it('tells people the books once, and keeps for programs what only the predecessor had', async () => {
    const text = (await runLine('status', ...at())).out;
    expect(text).toContain('accepted');
    expect(text).not.toContain('neo4j_connected');
    expect(await runJson('status', ...at())).toHaveProperty('neo4j_connected', true);
  });

  it('says which file cannot be read', async () => {
    const ran = await runLine('post', join(folder, 'absent.jsonl'), ...at());
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('INPUT_UNREADABLE');
  });
});

interface Letters {
  readonly dead_letters: readonly { readonly id: string; readonly state: string }[];
}

describe('dead letters', () => {
  it('are listed, shown, requeued and discarded by name (P4)', async () => {
    for (const session of ['d1', 'd2'])
      await postLines(daemon.url, [event(session, 'session:fork', { parent: session })]);
    await waitUntilIdle(daemon.url);
    const list = async (...more: string[]): Promise<Letters> =>
      runJson<Letters>('dead', 'list', ...more, ...at());
    const [first, second] = (await list('--code', 'EVENT_CONTRADICTS')).dead_letters;
    expect((await runLine('dead', 'list', ...at())).out).toContain('EVENT_CONTRADICTS');
    const shown = await runJson<{ payload: string }>('dead', 'show', first?.id ?? '', ...at());
    expect(shown.payload).toContain('session:fork');
    expect(await runJson('dead', 'requeue', first?.id ?? '', ...at())).toMatchObject({
      status: 'queued',
    });
    expect((await runLine('dead', 'requeue', ...at())).code).toBe(2);
    await waitUntilIdle(daemon.url);
    expect((await runLine('dead', 'requeue', first?.id ?? '', ...at())).code).toBe(1);
    const tried = await runJson('dead', 'discard', second?.id ?? '', ...at());
    expect(tried).toMatchObject({ dry_run: true, count: 1 });
    expect((await list('--session', 'd2')).dead_letters).toHaveLength(1);
    const discard = ['dead', 'discard', second?.id ?? '', '--yes', '--idempotency-key', 'd2'];
    const done = await runJson(...discard, ...at());
    expect(done).toMatchObject({ dry_run: false, count: 1 });
    expect(await runJson(...discard, ...at())).toEqual(done);
    expect((await list('--session', 'd2')).dead_letters).toHaveLength(0);
    expect(await runJson('status', ...at())).toMatchObject({ dead: 1, discarded: 1, residual: 0 });
  });
});

describe('waiting', () => {
  it('ends with 0 when all is drained, and refuses what is no duration', async () => {
    expect(await runLine('wait', ...at())).toMatchObject({ code: 0, out: 'idle' });
    expect((await runLine('wait', '--timeout', 'soon', ...at())).code).toBe(2);
  });
});

describe('doctor and version', () => {
  it('work beside a daemon and without one', async () => {
    const ran = await runLine('doctor', '--root', daemon.root, '--json');
    const beside = JSON.parse(ran.out) as {
      findings: readonly { check: string; result: string }[];
    };
    // A disk that others keep busy is a warning, which this test does not depend on.
    const isWell = beside.findings.every(
      ({ check, result }) => result === 'ok' || check === 'disk sync',
    );
    expect(isWell, ran.out).toBe(true);
    expect(beside.findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'config',
        'root',
        'permissions',
        'disk sync',
        'clock',
        'versions',
        'store',
      ]),
    );
    expect((await runLine('doctor', '--root', join(folder, 'not-yet'))).code).toBe(0);
    vi.stubEnv('MILLRACE_URL', daemon.url);
    const served = await runLine('doctor');
    vi.unstubAllEnvs();
    expect(served.out, 'looks at the root of the daemon').toContain(
      `${daemon.root} (served at ${daemon.url})`,
    );
    expect(await runJson('version')).toMatchObject({
      product: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });

  it('ends with 1 when there are findings', async () => {
    const ran = await runLine('doctor', '--root', folder);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('no root.json');
    expect(ran.out, 'says what to do').toContain('root: choose an empty folder');
    expect((await runLine('doctor', '--root', daemon.root, '--set', 'queue.fsync=none')).code).toBe(
      1,
    );
    expect((await runLine('doctor', '--root', daemon.root, '--set', 'queue.fsnc=none')).code).toBe(
      78,
    );
  });
});
