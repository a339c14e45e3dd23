import neo4j, { type Driver, type ManagedTransaction } from 'neo4j-driver';
import { systemChance, systemClock } from '#base';
import type { EdgeMutation, GroupPart, NodeMutation } from '#graph';
import { openNeo4jGraph } from '#graph/neo4j';
import { toNative } from '../src/graph/neo4j/values.ts';
import { cannotFetchNeo4j, startNeo4j } from '../test/services/neo4j-server.ts';
import { spillBytes, stepCount } from '../test/support/graph-fixtures.ts';
import { testPermit } from '../test/support/queue-fixtures.ts';
import { timed, workloadGroups, type Groups } from './graph-apply.ts';
import { interleave, median, rounded, type Question } from './question.ts';

interface Place {
  readonly uri: string;
  readonly driver: Driver;
}

/** The store as the daemon uses it: fold results in, two groups in flight. */
async function applyToStore({ uri, driver }: Place, groups: Groups): Promise<number> {
  await empty(driver);
  const clocks = { clock: systemClock, chance: systemChance };
  const graph = await openNeo4jGraph({ uri, rootId: 'bench', spillBytes, ...clocks });
  try {
    return await timed(groups, (group) => graph.apply(testPermit(), group));
  } finally {
    await graph.close();
  }
}

/** The same rows as somebody writes them who knows Neo4j: one transaction per group, a statement per set of labels and per type. */
async function applyByHand({ driver }: Place, groups: Groups): Promise<number> {
  await empty(driver);
  return timed(groups, async (group) => {
    const session = driver.session();
    try {
      await session.executeWrite((tx) => writeGroup(tx, group));
    } finally {
      await session.close();
    }
  });
}

async function writeGroup(tx: ManagedTransaction, group: readonly GroupPart[]): Promise<void> {
  const nodes = new Map<string, { id: string; properties: unknown }[]>();
  const edges = new Map<string, { from: string; to: string; properties: unknown }[]>();
  for (const { steps } of group)
    for (const { mutations } of steps)
      for (const mutation of mutations) {
        if (mutation.kind === 'node') addNode(nodes, mutation);
        else if (mutation.kind === 'edge') addEdge(edges, nodes, mutation);
      }
  for (const [labels, rows] of nodes)
    await tx.run(
      `UNWIND $rows AS r MERGE (n:Node {workspace: 'w', node_id: r.id}) SET n += r.properties SET n:${labels}`,
      { rows },
    );
  for (const [type, rows] of edges)
    await tx.run(
      `UNWIND $rows AS r MATCH (a:Node {workspace: 'w', node_id: r.from}) MATCH (b:Node {workspace: 'w', node_id: r.to}) MERGE (a)-[e:${type}]->(b) SET e += r.properties`,
      { rows },
    );
}

function addNode(
  nodes: Map<string, { id: string; properties: unknown }[]>,
  { id, labels, properties }: Pick<NodeMutation, 'id' | 'labels' | 'properties'>,
): void {
  const key = labels.toSorted().join(':');
  const rows = nodes.get(key) ?? [];
  nodes.set(key, rows);
  rows.push({ id, properties: nativeOf(properties) });
}

function addEdge(
  edges: Map<string, { from: string; to: string; properties: unknown }[]>,
  nodes: Map<string, { id: string; properties: unknown }[]>,
  { from, type, to, properties }: EdgeMutation,
): void {
  for (const { id, labels } of [from, to]) addNode(nodes, { id, labels, properties: {} });
  const rows = edges.get(type) ?? [];
  edges.set(type, rows);
  rows.push({ from: from.id, to: to.id, properties: nativeOf(properties) });
}

function nativeOf(properties: NodeMutation['properties']): unknown {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, toNative(value) ?? null]),
  );
}

async function empty(driver: Driver): Promise<void> {
  await driver.executeQuery(
    'CREATE CONSTRAINT millrace_node IF NOT EXISTS FOR (n:Node) REQUIRE (n.workspace, n.node_id) IS UNIQUE',
  );
  const session = driver.session();
  await session.run('MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS');
  await session.close();
}

export const neo4jApply: Question = {
  name: 'neo4j-apply',
  asks: 'Events that a real Neo4j 5.26 takes per second through the store, against UNWIND … MERGE of the same rows by hand',
  async run(options) {
    const reason = cannotFetchNeo4j();
    if (reason !== undefined) {
      process.stderr.write(`neo4j-apply: skipped: ${reason}\n`);
      return { figures: {} };
    }
    const server = await startNeo4j();
    const { uri } = server;
    const driver = neo4j.driver(uri, undefined, { telemetryDisabled: true, useBigInt: true });
    const place = { uri, driver };
    try {
      const groups = workloadGroups(options);
      const some = groups.slice(0, 8);
      await applyToStore(place, some);
      await applyByHand(place, some);
      const { a: store, b: hand } = await interleave(
        options.rounds,
        () => applyToStore(place, groups),
        () => applyByHand(place, groups),
      );
      return {
        figures: {
          eventsPerGroup: rounded(
            groups.reduce((sum, group) => sum + stepCount(group), 0) / groups.length,
          ),
          applied: rounded(median(store)),
          byHand: rounded(median(hand)),
          ratio: rounded(median(store) / median(hand)),
        },
      };
    } finally {
      await driver.close();
      await server.dispose();
    }
  },
};
