import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
