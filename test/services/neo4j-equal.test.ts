import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, isMillraceError, systemChance, systemClock, type JsonValue } from '#base';
import { copyGraph, namedQueries, type GraphStore, type GroupPart } from '#graph';
import { openCopySource, openCopyTarget } from '#graph/embedded';
import { openNeo4jCopySource, openNeo4jCopyTarget } from '#graph/neo4j';
import { encodeKey } from '#record';
import { edge, node, part, permit, time } from '../contract/graph/harness.ts';
import { dataFolder, translateSample } from '../formats/translate-file.ts';
import { openTestGraph } from '../graph/embedded-harness.ts';
import { withoutDuplicates } from '../handlers/sample-events.ts';
import { cypherParameters, cypherRows, cypherValues } from '../support/cypher-tables.ts';
import { cutGroups, foldLogs } from '../support/graph-fixtures.ts';
import { copyParts } from '../graph/copy-parts.ts';
import { emptyNeo4j, neo4jUri, openTestNeo4j, runRaw } from './neo4j-plug.ts';
import { questions } from './cypher-questions.ts';

const never = new AbortController().signal;
const limits = { rows: 10_000, bytes: 50_000_000, timeMs: 60_000 };

let folder: string;
let embedded: GraphStore;
let server: GraphStore;

/** The logs of one file of test/data, in a workspace of its own. */
async function logsOf(path: string): Promise<readonly GroupPart[]> {
  const { records } = await translateSample(path);
  return foldLogs(withoutDuplicates(records)).map((log) => ({
    ...log,
    workspace: path,
    key: encodeKey(path, log.session),
  }));
}

/** Each log from begin to end, all of them side by side, as a drain of many keys does it. */
async function drainSideBySide(store: GraphStore, logs: readonly GroupPart[]): Promise<void> {
  await Promise.all(
    logs.map(async (log) => {
      for (const group of cutGroups([log], { keys: 1, steps: 7 })) await store.apply(permit, group);
    }),
  );
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-equal-'));
  await emptyNeo4j();
  embedded = await openTestGraph(join(folder, 'graph.db'));
  server = await openTestNeo4j();
});

afterAll(async () => {
  await embedded.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function answer(store: GraphStore, text: string, workspaces?: readonly string[]) {
  const parameters = { ...cypherParameters, tool: 'bash', since: { $time: time(0) } };
  try {
    const query = { text, parameters, workspaces, limits };
    const { columns, rows, hasMore } = await store.cypher(query, never);
    const told = rows.map((row) => canonicalJson(row as JsonValue));
    return { columns, rows: /ORDER BY/.test(text) ? told : told.toSorted(), hasMore };
  } catch (error) {
    if (isMillraceError(error)) return { code: error.code };
    throw error;
  }
}

describe('one graph in both stores', () => {
  it('has an equal digest after every file of test/data, drained side by side into Neo4j and in order into the embedded store (P12, D25, D26)', async () => {
    const all = await readdir(dataFolder, { recursive: true });
    const files = all.filter((path) => /\.(jsonl|ndjson)$/.test(path)).toSorted();
    expect(files.length).toBeGreaterThan(10);
    let records = 0;
    for (const path of files) {
      const logs = await logsOf(path);
      for (const group of cutGroups(logs, { keys: 5, steps: 50 }))
        await embedded.apply(permit, group);
      await drainSideBySide(server, logs);
      expect(await server.digest(), path).toEqual(await embedded.digest());
      records += logs.reduce((sum, { steps }) => sum + steps.length, 0);
    }
    expect(records).toBeGreaterThan(200);
    expect(await server.stats()).toEqual(await embedded.stats());
  }, 900_000);

  it('answers every named query with equal rows (D9)', async () => {
    const { rows } = await embedded.query('sessions', { limit: 40 });
    const sessions = rows.map((row) => ({ workspace: String(row[0]), session: String(row[1]) }));
    expect(sessions.length).toBeGreaterThan(5);
    for (const { name, parameters } of namedQueries) {
      const asked: Record<string, unknown>[] = [{}, { limit: 3 }, { workspace: 'nowhere' }];
      if (parameters['session'] !== undefined) asked.push(...sessions);
      if (parameters['session']?.isRequired === true) asked.splice(0, 3);
      for (const given of asked)
        expect(await server.query(name, given), `${name} ${JSON.stringify(given)}`).toEqual(
          await embedded.query(name, given),
        );
    }
  });

  it.each(questions)('answers %s with equal rows', async (text) => {
    const expected = await answer(embedded, text);
    expect(expected).not.toHaveProperty('code');
    expect(await answer(server, text)).toEqual(expected);
    const workspaces = ['amplifier/danshapiro-freshell-normal-turn.jsonl', 'nowhere'];
    expect(await answer(server, text, workspaces)).toEqual(
      await answer(embedded, text, workspaces),
    );
  });

  it('gives every expression and every query without a graph the value that the embedded store gives it', async () => {
    const different: unknown[] = [];
    const known = [
      // Keys of a map have no order in Neo4j, and a text and a boolean are not put together.
      'keys({b: 1, a: 2})',
      "'a' + 1 + true",
    ];
    const texts = [
      ...cypherValues
        .filter(([expression]) => !known.includes(expression))
        .map(([expression]) => `RETURN ${expression} AS x`),
      ...cypherRows.map(([text]) => text).filter((text) => !text.includes('MATCH (n')),
    ];
    for (const text of texts) {
      const [there, here] = [await answer(server, text), await answer(embedded, text)];
      if (JSON.stringify(there) !== JSON.stringify(here)) different.push({ text, there, here });
    }
    expect(different).toEqual([]);
  });
});

describe('a graph that moves', () => {
  it('is copied into Neo4j and back with an equal digest, and goes on there (ING-542, D26)', async () => {
    const expected = await embedded.digest();
    await server.close();
    await emptyNeo4j();
    const there = { uri: neo4jUri(), clock: systemClock, chance: systemChance };
    const first = openCopySource(join(folder, 'graph.db'));
    const second = await openNeo4jCopyTarget(there);
    expect(await copyGraph(first, second, () => undefined)).toEqual(expected);
    await first.close();
    await second.close();
    server = await openTestNeo4j();
    expect(server.graphId).toBe(embedded.graphId);
    const source = await openNeo4jCopySource(there);
    const target = openCopyTarget(join(folder, 'back.db'));
    expect(await copyGraph(source, target, () => undefined)).toEqual(expected);
    await source.close();
    await target.close();
    const back = await openTestGraph(join(folder, 'back.db'));
    const { before, after } = copyParts();
    for (const store of [embedded, server, back]) {
      await store.apply(permit, before);
      await store.apply(permit, after);
    }
    const later = await embedded.digest();
    expect(later.nodes).toBeGreaterThan(expected.nodes);
    expect(await server.digest()).toEqual(later);
    expect(await back.digest()).toEqual(later);
    await back.close();
  }, 900_000);

  it('is not taken by a daemon while half of it is there', async () => {
    await server.close();
    await emptyNeo4j();
    const there = { uri: neo4jUri(), clock: systemClock, chance: systemChance };
    const source = openCopySource(join(folder, 'graph.db'));
    const target = await openNeo4jCopyTarget(there);
    const stop = new Error('interrupted');
    await expect(
      copyGraph(source, target, ({ phase }) => {
        if (phase === 'edges') throw stop;
      }),
    ).rejects.toBe(stop);
    await expect(openTestNeo4j()).rejects.toThrow('half a copy');
    expect(await copyGraph(source, target, () => undefined)).toEqual(await embedded.digest());
    await source.close();
    await target.close();
    server = await openTestNeo4j();
  }, 900_000);
});

describe('keys that write at once', () => {
  const rounds = 25;

  /** A parent that delegates to itself, the spawn of that parent, and the child: three keys that know a third of the truth each. */
  function halves(workspace: string): readonly GroupPart[] {
    const spawned = (parent: string, child: string, agent: string, second: number) => ({
      kind: 'fact' as const,
      about: child,
      source: `${parent}__spawn__${child}`,
      fact: {
        type: 'spawned' as const,
        parent,
        delegation: `${parent}::delegation::${child}`,
        agent,
        occurredAt: time(second),
      },
    });
    const delegation = (owner: string, child: string) =>
      node(owner, `${owner}::delegation::${child}`, ['Delegation', 'SST_EVENT'], { child });
    const own = (session: string) => node(session, session, ['Session'], { session_id: session });
    return [
      part('p', [[own('p'), delegation('p', 'c'), spawned('p', 'c', 'coder', 1)]], { workspace }),
      part('c', [[own('c'), delegation('c', 'd'), spawned('c', 'd', 'self', 2)]], { workspace }),
      part('d', [[own('d')], [delegation('d', 'e'), spawned('d', 'e', 'self', 3)]], { workspace }),
      part('e', [[own('e')]], { workspace }),
    ];
  }

  it('make one truth of the halves of a delegation, whoever is first (P12, D25, ING-616)', async () => {
    const names = Array.from({ length: rounds }, (_, at) => `halves-${at}`);
    for (const name of names) await embedded.apply(permit, halves(name));
    for (const name of names)
      await Promise.all(halves(name).map((one) => server.apply(permit, [one])));
    expect(await server.digest()).toEqual(await embedded.digest());
  });

  it('make one node of one that 50 sessions speak of at once (SC-040, SC-041)', async () => {
    for (let round = 0; round < 6; round += 1) {
      const id = `shared-${round}`;
      const groups = Array.from({ length: 50 }, (_, at) => [
        part(`m${at}`, [[edge(`m${at}`, 'NEXT', id)]], { workspace: `twins-${round}` }),
      ]);
      for (const group of groups) await embedded.apply(permit, group);
      await Promise.all(groups.map((group) => server.apply(permit, group)));
    }
    expect(await server.digest()).toEqual(await embedded.digest());
  });

  it('are refused where the database has lost its constraints and twins came in; without twins they are made again (SC-040)', async () => {
    await server.close();
    const names = 'SHOW CONSTRAINTS YIELD name WHERE name = "millrace_node" RETURN name';
    await runRaw('DROP CONSTRAINT millrace_node');
    server = await openTestNeo4j();
    expect(await runRaw(names)).toHaveLength(1);
    await server.close();
    await runRaw('DROP CONSTRAINT millrace_node');
    await runRaw("UNWIND [1, 2] AS x CREATE (:Node:Twin {workspace: 'w', node_id: 'twin'})");
    await expect(openTestNeo4j()).rejects.toThrow(/GRAPH_UNAVAILABLE|graph does not answer/);
    await runRaw('MATCH (n:Twin) DELETE n');
    server = await openTestNeo4j();
    expect(await runRaw(names)).toHaveLength(1);
  });

  it('name a concept, and forget it, side by side (ING-615, ING-616)', async () => {
    const named = (at: number, workspace: string) =>
      part(
        `s${at}`,
        [
          [
            {
              kind: 'concept' as const,
              concept: 'Recipe' as const,
              name: 'one',
              occurredAt: time(at),
            },
            node(`s${at}`, `s${at}`, ['Session'], { at }),
          ],
        ],
        { workspace },
      );
    const all = Array.from({ length: 12 }, (_, at) => named(at, 'concepts'));
    await embedded.apply(permit, all);
    await Promise.all(all.map((one) => server.apply(permit, [one])));
    expect(await server.digest()).toEqual(await embedded.digest());
  });
});
