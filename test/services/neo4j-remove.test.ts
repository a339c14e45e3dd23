import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMillraceError, parseJson, type JsonObject } from '#base';
import { FencePermit } from '#fence';
import type { GroupPart } from '#graph';
import type { Neo4jGraphStore } from '#graph/neo4j';
import { goldenBodies, withoutDuplicates } from '../handlers/sample-events.ts';
import { openInProcessGraph } from '../graph/in-process-graph.ts';
import { cutGroups, foldLogs, recordOf } from '../support/graph-fixtures.ts';
import { makeWorkload } from '../support/workload.ts';
import { edge, node, part, permit, time } from '../contract/graph/harness.ts';
import { emptyNeo4j, openTestNeo4j, runRaw } from './neo4j-plug.ts';

let store: Neo4jGraphStore;

beforeAll(async () => {
  await emptyNeo4j();
  store = await openTestNeo4j();
});

afterAll(() => store.close());

function partsOf(path: string): readonly GroupPart[] {
  return foldLogs(withoutDuplicates(goldenBodies(path).map(recordOf)));
}

/** Sessions of real agents, and made ones that fork, spawn and name each other. */
const inputs: readonly (readonly [name: string, parts: readonly GroupPart[]])[] = [
  ['made-every-claimed-event', partsOf('golden/made-every-claimed-event.ndjson')],
  ['nested delegation', partsOf('amplifier/made-nested-delegation-two-parallel.ndjson')],
  [
    'a generated workload',
    foldLogs(
      makeWorkload({ seed: 3, sessions: 5, turns: 2, eventsPerBatch: 100 })
        .flatMap(({ bodies }) => bodies)
        .map((body) => recordOf(parseJson(body) as JsonObject)),
    ),
  ],
];

async function fill(parts: readonly GroupPart[]): Promise<void> {
  await emptyNeo4j();
  await store.close();
  store = await openTestNeo4j();
  for (const group of cutGroups(parts, { keys: 8, steps: 200 })) await store.apply(permit, group);
}

function embeddedDigest(parts: readonly GroupPart[], removed: readonly GroupPart[]): string {
  const graph = openInProcessGraph();
  try {
    for (const group of cutGroups(parts, { keys: 8, steps: 200 })) graph.apply(group);
    if (removed.length > 0) graph.remove(removed);
    return graph.digest();
  } finally {
    graph.close();
  }
}

/** Live for this many looks, and lost from then on: the place at which a daemon is cut off. */
function dyingAfter(looks: number): FencePermit {
  let left = looks;
  const { domain, generation, holder } = permit;
  return FencePermit.issue(domain, generation, holder, () => (left -= 1) >= 0);
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    return isMillraceError(error) ? error.code : String(error);
  }
}

describe('taking sessions out of the graph in Neo4j', () => {
  for (const [name, parts] of inputs) {
    it(`leaves what the embedded store leaves, whichever session of ${name} goes (P12)`, async () => {
      for (const one of parts) {
        await fill(parts);
        const counts = await store.remove(permit, [one]);
        expect(counts.nodes, one.session).toBeGreaterThan(0);
        const { digest } = await store.digest();
        expect([one.session, digest]).toEqual([one.session, embeddedDigest(parts, [one])]);
        expect((await store.remove(permit, [one])).nodes).toBe(0);
        expect((await store.digest()).digest).toBe(digest);
      }
    }, 600_000);

    it(`leaves nothing once all of ${name} are gone, and all of it once they are posted again (P5)`, async () => {
      await fill(parts);
      const { digest } = await store.digest();
      await store.remove(permit, parts);
      expect(await store.stats()).toMatchObject({ nodes: 0, edges: 0 });
      expect(await runRaw('MATCH (n:MillraceFact|MillraceSource) RETURN n')).toEqual([]);
      const keys = parts.map(({ key }) => key);
      expect([...(await store.rows({ keys })).values()]).toEqual([]);
      for (const group of cutGroups(parts, { keys: 8, steps: 200 }))
        await store.apply(permit, group);
      expect((await store.digest()).digest).toBe(digest);
    }, 600_000);
  }

  it('is taken up again wherever it was cut off, and takes a session of many pages in many transactions', async () => {
    const events = Array.from({ length: 2_500 }, (_, at) => `s__${at}`);
    const own = [
      node('s', 's', ['Session'], { session_id: 's' }),
      ...events.map((id) => node('s', id, ['Event'], { occurred_at: { $time: time(1) } })),
      ...events.map((id) => edge('s', 'HAS_EVENT', id)),
    ];
    const other = [node('t', 't', ['Session'], {}), edge('t', 'SPAWNED', 's')];
    const parts = [part('s', [own]), part('t', [other])] as const;
    const wanted = embeddedDigest(parts, [parts[0]]);
    await fill(parts);
    let cuts = 0;
    for (let looks = 1; ; looks += 1) {
      const code = await codeOf(store.remove(dyingAfter(looks), [parts[0]]));
      if (code === 'none') break;
      expect(code).toBe('FENCE_LOST');
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(3);
    expect((await store.digest()).digest).toBe(wanted);
  }, 300_000);

  it('is refused to a daemon that was overtaken (FEN-403)', async () => {
    const [, parts] = inputs[1] ?? [];
    if (parts === undefined) throw new Error('no input');
    await fill(parts);
    const { domain, generation, holder } = permit;
    const successor = FencePermit.issue(domain, generation + 1, `${holder}-2`, () => true);
    await store.armKeys(successor, []);
    const { digest } = await store.digest();
    expect(await codeOf(store.remove(permit, parts))).toBe('FENCE_STALE');
    expect((await store.digest()).digest).toBe(digest);
  }, 120_000);

  it('answers what a deletion asks before and after, as the embedded store does', async () => {
    const [, parts] = inputs[0] ?? [];
    if (parts === undefined) throw new Error('no input');
    await fill(parts);
    const graph = openInProcessGraph();
    for (const group of cutGroups(parts, { keys: 8, steps: 200 })) graph.apply(group);
    for (const { workspace, session } of parts) {
      const told = await store.survey({ workspace, session });
      const wanted = graph.survey(workspace, session);
      expect([session, told.nodes, told.objects]).toEqual([session, wanted.nodes, wanted.objects]);
      expect(new Set(await store.descendants({ workspace, session }))).toEqual(
        new Set(graph.descendants(workspace, session)),
      );
    }
    graph.close();
    const all = { before: '2999-01-01T00:00:00Z', limit: 1_000, workspaces: undefined };
    expect((await store.quiet(all)).length).toBeGreaterThan(0);
    expect(await store.quiet({ ...all, before: '1999-01-01T00:00:00Z' })).toEqual([]);
    expect(await store.quiet({ ...all, workspaces: ['nowhere'] })).toEqual([]);
    expect(await store.usedBytes()).toBeGreaterThan(1_000);
  }, 120_000);
});
