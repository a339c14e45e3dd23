import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { Clock } from '#base';
import { FencePermit } from '#fence';
import type { NamedQuery } from '#graph';
import { classifySqliteError } from '../../src/graph/embedded/classify.ts';
import { openForReading } from '../../src/graph/embedded/open-database.ts';
import { QueryRunner } from '../../src/graph/embedded/run-query.ts';
import { testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { codeOf, node, part, permit } from '../contract/graph/harness.ts';
import { openTestGraph } from './embedded-harness.ts';
import { openInProcessGraph } from './in-process-graph.ts';

const group = [part('s', [[node('s', 's', ['Session'], { text: 'x'.repeat(100_000) })]])];

function inFolder(use: (path: string) => Promise<void>): Promise<void> {
  return withTemporaryDirectory((folder) => use(join(folder, 'graph.db')));
}

describe('the embedded graph', () => {
  it('answers a conflict while another process holds the write lock, and applies the same group after it', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path, { lockWaitMs: 50 });
      const other = new DatabaseSync(path);
      other.exec('BEGIN IMMEDIATE');
      expect(await codeOf(graph.apply(permit, group))).toBe('GRAPH_CONFLICT');
      expect(await codeOf(graph.probe())).toBe('GRAPH_CONFLICT');
      other.exec('ROLLBACK');
      other.close();
      await graph.apply(permit, group);
      expect((await graph.digest()).nodes).toBe(1);
      await graph.close();
    }));

  it('is refused by name when its pages are damaged, and nothing of it is changed (P7)', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path);
      for (let at = 0; at < 40; at += 1)
        await graph.apply(permit, [
          part(`s${at}`, [[node(`s${at}`, `s${at}`, ['Session'], { text: 'x'.repeat(3000) })]]),
        ]);
      await graph.close();
      const sound = await readFile(path);
      const damages = [
        Buffer.alloc(sound.length, 0xa5),
        Buffer.from(sound).fill(0, 4096 * 3, 4096 * 6),
        sound.subarray(0, 4096 * 5),
      ];
      for (const damaged of damages) {
        await writeFile(path, damaged);
        const code = await openTestGraph(path).then(
          async (opened) => `opened ${(await opened.digest()).nodes}`,
          (error: unknown) => (error as { code: string }).code,
        );
        expect(code).toBe('GRAPH_CORRUPT');
        expect((await readFile(path)).equals(damaged)).toBe(true);
      }
      await writeFile(path, sound);
      const again = await openTestGraph(path);
      expect((await again.digest()).nodes).toBe(40);
      await again.close();
    }));

  it('keeps nothing of a group for which the disk is full, and takes it once there is room (ING-851)', () => {
    const graph = openInProcessGraph();
    graph.execute('PRAGMA max_page_count = 1');
    const before = graph.digest();
    let thrown: unknown;
    try {
      graph.apply(group);
    } catch (error) {
      thrown = error;
    }
    expect(classifySqliteError(thrown)).toMatchObject({ code: 'GRAPH_UNAVAILABLE' });
    expect(graph.digest()).toBe(before);
    graph.execute('PRAGMA max_page_count = 100000');
    graph.apply(group);
    expect(graph.export()).toContain('"id":"s"');
    graph.close();
  });

  it('writes nothing more once a read or a write has met damage, and says so; records wait for it (P3, P7)', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path);
      await graph.apply(permit, group);
      expect(graph.damage()).toBeUndefined();
      await graph.close();
      const bytes = await readFile(path);
      // One letter of a stored value: every page is as sound as before.
      const value = '"text":"xxx';
      for (let at = bytes.indexOf(value); at >= 0; at = bytes.indexOf(value)) bytes[at] = 0x5b;
      await writeFile(path, bytes);
      const opened = await openTestGraph(path, { check: 'full' });
      const more = [part('s', [[node('s', 's', ['Session'], { more: 1 })]], { first: 2 })];
      expect(await codeOf(opened.apply(permit, more))).toBe('GRAPH_DAMAGED');
      const other = [part('t', [[node('t', 't', ['Session'], {})]])];
      expect(await codeOf(opened.apply(permit, other))).toBe('GRAPH_DAMAGED');
      expect(opened.damage()).toMatchObject({ code: 'GRAPH_DAMAGED' });
      await opened.close();
    }));

  it('looks at the pages of a file that nobody vouches for, and at the indexes of one that was changed', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path);
      await graph.apply(permit, [part('s', [[node('s', 'an-id-of-a-node', ['Session'], {})]])]);
      await graph.close();
      // The id lies in the table and in an index; changed in one of them the pages are well, and a search by it finds nothing.
      const bytes = await readFile(path);
      bytes.write('I', bytes.lastIndexOf('an-id-of-a-node') + 3, 'latin1');
      await writeFile(path, bytes);
      await (await openTestGraph(path, { check: 'none' })).close();
      await (await openTestGraph(path, { check: 'quick' })).close();
      expect(await codeOf(openTestGraph(path, { check: 'full' }))).toBe('GRAPH_CORRUPT');
    }));

  it('says of a folder that is missing that the graph is away, and of a file that is no database that it is damaged', () =>
    withTemporaryDirectory(async (folder) => {
      expect(await codeOf(openTestGraph(join(folder, 'no', 'graph.db')))).toBe('GRAPH_UNAVAILABLE');
      const garbage = join(folder, 'garbage.db');
      await writeFile(garbage, 'this is no database, whatever its name says'.repeat(100));
      expect(await codeOf(openTestGraph(garbage))).toBe('GRAPH_CORRUPT');
      expect(await readFile(garbage, 'utf8')).toContain('no database');
    }));

  it('refuses a newer format by name and leaves the file as it is', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path);
      await graph.apply(permit, group);
      await graph.close();
      const database = new DatabaseSync(path);
      database.exec('PRAGMA user_version = 2');
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
      const before = await readFile(path);
      expect(await codeOf(openTestGraph(path))).toBe('FORMAT_TOO_NEW');
      expect((await readFile(path)).equals(before)).toBe(true);
    }));

  it('leaves a database of another program alone', () =>
    inFolder(async (path) => {
      const database = new DatabaseSync(path);
      database.exec('CREATE TABLE theirs (x)');
      database.close();
      const before = await readFile(path);
      expect(await codeOf(openTestGraph(path))).toBe('GRAPH_UNAVAILABLE');
      expect((await readFile(path)).equals(before)).toBe(true);
    }));

  it('is armed while it is opened, unless it carries a higher generation (FEN-113, FEN-403)', () =>
    inFolder(async (path) => {
      await (await openTestGraph(path, { permit: testPermit(5) })).close();
      const stale = openTestGraph(path, { permit: testPermit(4) });
      await expect(stale).rejects.toMatchObject({ code: 'FENCE_STALE', details: { mark: 5 } });
      const foreign = FencePermit.issue('daemon:SR-other', 1, 'holder', () => true);
      const graph = await openTestGraph(path, { permit: foreign });
      expect(await codeOf(graph.armKeys(foreign, []))).toBe('GRAPH_MISMATCH');
      await graph.close();
    }));

  it('refuses another graph in the place of the one that was open (ING-540)', () =>
    inFolder(async (path) => {
      const graph = await openTestGraph(path);
      const { graphId } = graph;
      await graph.close();
      const found = openForReading({ path, graphId });
      found.database.close();
      expect(() => openForReading({ path, graphId: 'other' })).toThrow(
        expect.objectContaining({ code: 'GRAPH_MISMATCH' }),
      );
    }));

  it('tells SQLite trouble apart by its number, the extended ones too', () => {
    const codes: readonly (readonly [number, string])[] = [
      [5, 'GRAPH_CONFLICT'],
      [261, 'GRAPH_CONFLICT'],
      [517, 'GRAPH_CONFLICT'],
      [6, 'GRAPH_CONFLICT'],
      [3, 'GRAPH_DENIED'],
      [8, 'GRAPH_DENIED'],
      [1032, 'GRAPH_DENIED'],
      [10, 'GRAPH_UNAVAILABLE'],
      [3338, 'GRAPH_UNAVAILABLE'],
      [11, 'GRAPH_DAMAGED'],
      [13, 'GRAPH_UNAVAILABLE'],
      [14, 'GRAPH_UNAVAILABLE'],
      [26, 'GRAPH_DAMAGED'],
    ];
    for (const [errcode, code] of codes) {
      const error = Object.assign(new Error('told'), { errcode });
      expect(classifySqliteError(error)).toMatchObject({
        code,
        disposition: 'retry',
        cause: error,
      });
    }
    expect(classifySqliteError(Object.assign(new Error('unique'), { errcode: 1555 }))).toBe(
      undefined,
    );
    expect(classifySqliteError(new TypeError('a defect'))).toBe(undefined);
  });

  it('is denied what a read-only connection tries to write', () =>
    inFolder(async (path) => {
      await (await openTestGraph(path)).close();
      const { database } = openForReading({ path });
      try {
        database.exec('DELETE FROM meta');
        expect.unreachable();
      } catch (error) {
        expect(classifySqliteError(error)).toMatchObject({ code: 'GRAPH_DENIED' });
      }
      database.close();
    }));

  it('forgets the names of a transaction that failed (ING-508)', () => {
    const graph = openInProcessGraph();
    graph.execute(
      "CREATE TEMP TRIGGER refuse BEFORE INSERT ON applied_row WHEN NEW.key = 'w~t' BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    const failing = [
      part('s', [[node('s', 's', ['Session', 'New'])]]),
      part('t', [[node('t', 't', ['Other'])]]),
    ];
    expect(() => graph.apply(failing)).toThrow('no');
    graph.execute('DROP TRIGGER refuse');
    graph.apply([part('t', [[node('t', 't', ['Other', 'New'])]])]);
    expect(graph.export()).toBe(
      '{"node":{"id":"t","labels":["New","Other"],"properties":{},"workspace":"w"}}\n',
    );
    graph.close();
  });

  it('stops a query at its time limit, by name, and answers the next one', () => {
    const database = new DatabaseSync(':memory:');
    let nowMs = 0;
    const clock: Clock = {
      now: () => 0,
      monotonic: () => (nowMs += 1),
      sleep: () => Promise.resolve(),
      after: () => ({ cancel: () => undefined }),
      endOfTurn: () => Promise.resolve(),
    };
    const runner = new QueryRunner(database, clock);
    const endless: NamedQuery = {
      name: 'endless',
      tells: 'Counts for ever',
      parameters: {},
      columns: ['n'],
      sql: 'WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE tick()) SELECT count(*) AS n FROM c LIMIT :limit',
    };
    const limits = { rows: 1, timeMs: 50 };
    expect(() => runner.run(endless, {}, limits)).toThrow(
      expect.objectContaining({ code: 'QUERY_TIMEOUT', disposition: 'reject' }),
    );
    const short = { ...endless, sql: 'SELECT 7 AS n WHERE tick() LIMIT :limit' };
    expect(runner.run(short, {}, limits)).toEqual({ columns: ['n'], rows: [[7]], hasMore: false });
    database.close();
  });
});
