import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/cli/post/sent-events.ts';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import { postLines, waitUntilIdle } from '../support/daemon-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-desk-'));
let daemon: ChildDaemon;
const at = (): readonly string[] => ['--url', daemon.url];

const poison = (session: string, n: number): string =>
  JSON.stringify({
    event: 'session:fork',
    workspace: 'desk',
    event_id: `${session}-${n}`,
    data: { session_id: session, parent: session, timestamp: '2026-06-01T00:00:00Z', n },
  });

interface Letters {
  readonly dead_letters: readonly { readonly id: string }[];
}

beforeAll(async () => {
  daemon = await startDaemon({ root: join(folder, 'root') });
  await postLines(
    daemon.url,
    [0, 1, 2].flatMap((n) => [poison('a', n), poison('b', n)]),
  );
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

describe('the desk on the command line', () => {
  it('shows causes, tries a requeue, carries it out as a job and tells its results', async () => {
    const groups = await runJson<{ groups: { group: string; count: number }[] }>(
      'dead',
      'groups',
      ...at(),
    );
    expect(groups.groups).toMatchObject([{ count: 6, code: 'EVENT_CONTRADICTS' }]);
    const group = groups.groups[0]?.group ?? '';
    expect((await runLine('dead', 'groups', ...at())).out).toContain(group);
    const tried = await runLine('dead', 'requeue', '--group', group, '--dry-run', ...at());
    expect(tried.out).toContain('6 letters');
    expect(tried.out).toContain('dies');
    const done = await runJson<{ job: { id: string; state: string } }>(
      'dead',
      'requeue',
      '--group',
      group,
      ...at(),
    );
    expect(done.job).toMatchObject({ state: 'done', total: 6, counts: { requeued: 6 } });
    await waitUntilIdle(daemon.url);
    expect((await runLine('jobs', 'list', ...at())).out).toContain(done.job.id);
    const shown = await runLine('jobs', 'show', done.job.id, '--results', ...at());
    expect(shown.out).toContain('requeued');
    expect(shown.out).toContain('dead');
    expect((await runLine('jobs', 'cancel', done.job.id, ...at())).code).toBe(1);
    expect((await runLine('dead', 'requeue', ...at())).code).toBe(2);
  });

  it('edits a letter by way of a file, exports the rest, and discards what was shown', async () => {
    const { dead_letters: letters } = await runJson<Letters>('dead', 'list', ...at());
    const id = letters[0]?.id ?? '';
    const file = join(folder, 'event.json');
    const printed = await runLine('dead', 'edit', id, '--print', ...at());
    writeFileSync(file, printed.out.replace('"parent":"a"', '"parent":"other"'));
    const tried = await runLine('dead', 'edit', id, '--file', file, '--dry-run', ...at());
    expect(tried.out).toContain('applies');
    expect(await runJson('dead', 'edit', id, '--file', file, ...at())).toMatchObject({
      status: 'queued',
    });
    expect((await runLine('dead', 'edit', id, ...at())).code).toBe(2);
    await waitUntilIdle(daemon.url);
    const saved = join(folder, 'dead.ndjson');
    await runLine('dead', 'export', '--output', saved, ...at());
    expect(readFileSync(saved, 'utf8').trim().split('\n')).toHaveLength(5);
    const shown = await runLine('dead', 'discard', '--session', 'b', ...at());
    expect(shown.out).toMatch(
      /^3 dead letters would be discarded\n(?: {2}\S+\n){3}confirm {2}\S+$/,
    );
    expect(shown.err).toContain('--yes');
    const gone = await runJson('dead', 'discard', '--session', 'b', '--yes', ...at());
    expect(gone).toMatchObject({ count: 3, job: { state: 'done' } });
    expect(await runJson('status', ...at())).toMatchObject({ dead: 2, discarded: 3, residual: 0 });
  });

  it('shows the daemon at a look, and follows what happens', async () => {
    const page = await runLine('top', '--once', ...at());
    expect(page.out).toContain('residual 0');
    expect(page.out).not.toContain('\u001b');
    expect(await runJson('top', '--once', ...at())).toMatchObject({ residual: 0, rates: null });
    const line = runLine('tail', '--kinds', 'dead', '--session', 'c', '--limit', '1', ...at());
    const seen: unknown[] = [];
    void line.then((ended) => seen.push(ended));
    // Whoever comes late to a stream sees only what happens from then on.
    for (let n = 0; seen.length === 0 && n < 200; n += 1) {
      await postLines(daemon.url, [poison('c', n)]);
      await waitUntilIdle(daemon.url);
    }
    expect((await line).out).toMatch(/dead +desk\/c +EVENT_CONTRADICTS/);
  });
});

it('puts server-sent events together however they are cut', async () => {
  const text =
    ': hello\n\nretry: 5\n\nid: x-1\nevent: dead\ndata: {"a":"ä"}\n\ndata: two\ndata: lines\n\n';
  const bytes = Buffer.from(text);
  for (const size of [1, 7, 1000]) {
    const cut = async function* (): AsyncGenerator<Uint8Array> {
      for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
    };
    expect(await Array.fromAsync(eventsOf(cut()))).toEqual([
      { id: 'x-1', event: 'dead', data: '{"a":"ä"}' },
      { id: undefined, event: 'message', data: 'two\nlines' },
    ]);
  }
});
