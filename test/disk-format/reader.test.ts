import { createHash } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { getJson, postLines, readBooks, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { copyRoot, makeVictim, postAfterwards, victimArguments } from '../../src/lab/damage/victim.ts';
import { importsOf } from '../tidy/source-tree.ts';
import { crc32c } from './journal-reader.ts';
import { readRoot, type ReadKey } from './reader.ts';

interface Row {
  readonly key: string;
  readonly workspace: string;
  readonly session_id: string;
  readonly epoch: string;
  readonly committed: string;
  readonly end: string;
  readonly accepted: number;
  readonly dead: number;
  readonly discarded: number;
  readonly quarantine: string | null;
}

/** Small segments, so that a short run rolls them and makes checkpoints. */
const args = ['--set', 'queue.segment_bytes=64KiB', '--log-level', 'warn'];

function bodies(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => {
    const n = from + at;
    const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
    // The fork of itself becomes a dead letter.
    const isPoison = n % 40 === 39;
    const session_id = ['plain', 'dots.and~äöü', 'x'.repeat(200), 'plain'][n % 4];
    const data = { session_id, timestamp, text: 'ä🚀\u2028'.repeat(20), ...(isPoison ? { parent: session_id } : {}) };
    return JSON.stringify({ event: isPoison ? 'session:fork' : 'custom:note', workspace: 'w', event_id: `e${n}`, data });
  });
}

function positionOf({ ordinal, epoch }: ReadKey, offset: number): string {
  return `${ordinal.toString(16).padStart(8, '0')}.${offset.toString(16).padStart(14, '0')}.${epoch}`;
}

function rowsOf(keys: ReadonlyMap<string, ReadKey>): readonly Row[] {
  return [...keys]
    .filter(([, { isFinalised }]) => !isFinalised)
    .map(([key, read]) => ({
      key,
      workspace: read.workspace,
      session_id: read.session,
      epoch: read.epoch,
      committed: positionOf(read, read.committed),
      end: positionOf(read, read.end),
      accepted: read.accepted,
      dead: read.dead,
      discarded: read.discarded,
      quarantine: read.quarantine,
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

interface SessionRow extends Omit<Row, 'quarantine'> {
  readonly finalised: boolean;
  readonly quarantine: { readonly code: string } | null;
}

/** What is left of a finalised session is in the state store alone, which is not read here. */
async function rowsFrom(url: string): Promise<readonly Row[]> {
  const { sessions } = await getJson<{ sessions: readonly SessionRow[] }>(url, '/v1/sessions?limit=1000');
  return sessions
    .filter(({ finalised }) => !finalised)
    .map(({ key, workspace, session_id, epoch, committed, end, accepted, dead, discarded, quarantine }) => ({
      key,
      workspace,
      session_id,
      epoch,
      committed,
      end,
      accepted,
      dead,
      discarded,
      quarantine: quarantine?.code ?? null,
    }));
}

describe('a reader that was written from docs/disk-format.md alone', () => {
  it('uses no code of millrace', () => {
    const files = ['reader.ts', 'journal-reader.ts'];
    const own = files.flatMap((file) => importsOf(`test/disk-format/${file}`));
    for (const { specifier } of own) expect(specifier).toMatch(/^(node:|\.\/journal-reader\.ts$)/);
    expect(crc32c(Buffer.from('123456789')).toString(16)).toBe('e3069283');
  });

  it('tells the positions and records of a root as its daemon does: killed, with a backlog, and stopped in order (P1, P2, P4)', () =>
    withTemporaryDirectory(async (place) => {
      const root = join(place, 'root');
      const first = await startDaemon({ root, args });
      for (let at = 0; at < 400; at += 50) expect(await postLines(first.url, bodies(at, 50))).toBe(202);
      await waitUntilIdle(first.url);
      const idle = await rowsFrom(first.url);
      await first.kill();
      expect(rowsOf(readRoot(root).keys)).toEqual(idle);
      const second = await startDaemon({ root, args });
      expect(await postLines(second.url, bodies(400, 50))).toBe(202);
      await second.kill();
      // With some of the last batch committed or none: what was acknowledged is there, in order.
      const killed = readRoot(root);
      const ids = [...killed.keys.values()].flatMap(({ records }) =>
        [...records.values()].map((record) => (JSON.parse(record) as { id: string }).id),
      );
      expect(ids.length).toBe(450);
      expect(new Set(ids).size).toBe(450);
      const copy = join(place, 'copy');
      await cp(root, copy, { recursive: true });
      const third = await startDaemon({ root: copy, args });
      await waitUntilIdle(third.url);
      const drained = await rowsFrom(third.url);
      const ends = (rows: readonly Row[]): unknown => rows.map(({ key, end, accepted }) => [key, end, accepted]);
      expect(ends(rowsOf(killed.keys))).toEqual(ends(drained));
      expect(await readBooks(third.url)).toMatchObject({ accepted: 450, dead: 11, residual: 0 });
      expect(await third.stop()).toBe(0);
      const stopped = readRoot(copy);
      expect(rowsOf(stopped.keys)).toEqual(drained);
      // Session files alone, without any journal, say the same after a stop in order (QFS-13).
      await rm(join(copy, 'queue', 'journal'), { recursive: true });
      expect(rowsOf(readRoot(copy).keys)).toEqual(drained);
      const digest = (keys: ReadonlyMap<string, ReadKey>): string =>
        createHash('sha256')
          .update(JSON.stringify([...keys].map(([key, { records }]) => [key, [...records]]).toSorted()))
          .digest('hex');
      expect(digest(stopped.keys)).toBe(digest(killed.keys));
    }));

  it('follows ends, compactions, ways out and positions set anew, from the journal and from the files (P4)', () =>
    withTemporaryDirectory(async (place) => {
      const root = join(place, 'read');
      await copyRoot((await makeVictim(place)).killed, root);
      // Every frame since the last checkpoint is in the journal alone.
      const first = await startDaemon({ root, args: victimArguments });
      await waitUntilIdle(first.url);
      const post = async (path: string, body: object): Promise<void> => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${first.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
        expect(answer.status, await answer.text()).toBe(200);
      };
      await post('/v1/sessions/alder/replay', { dry_run: false });
      await waitUntilIdle(first.url);
      await post('/v1/sessions/fir/compact', { min_bytes: 1 });
      await post('/v1/dead-letters/discard', { session: 'birch', dry_run: false, confirm: 'all' });
      await postAfterwards(first.url);
      await waitUntilIdle(first.url);
      const rows = await rowsFrom(first.url);
      expect(rows.length).toBeGreaterThan(4);
      await first.kill();
      expect(rowsOf(readRoot(root).keys)).toEqual(rows);
      const second = await startDaemon({ root, args: victimArguments });
      expect(await second.stop()).toBe(0);
      expect(rowsOf(readRoot(root).keys)).toEqual(rows);
    }));
});
