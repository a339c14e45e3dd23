import { formatTooNew, type Chance } from '#base';
import { graphUnavailable } from '../errors.ts';
import { statement } from './cypher.ts';
import type { Neo4jLink } from './link.ts';
import { nodeLabel } from './stored-form.ts';

/** Version of what lies in the database: labels, hidden nodes, hidden properties (docs/neo4j.md). */
export const neo4jFormatVersion = 1;

/** Labels and types given as parameters (`n:$(labels)`) came with it. */
const oldestServer = { major: 5, minor: 26 };

/** What makes a database of version N - 1 one of version N. Each may run again: a migration that was cut off is taken up. */
const migrations: readonly (readonly string[])[] = [
  [
    'CREATE CONSTRAINT millrace_graph IF NOT EXISTS FOR (n:MillraceGraph) REQUIRE n.name IS UNIQUE',
    'CREATE CONSTRAINT millrace_guard IF NOT EXISTS FOR (n:FenceGuard) REQUIRE n.resource IS UNIQUE',
    `CREATE CONSTRAINT millrace_node IF NOT EXISTS FOR (n:${nodeLabel}) REQUIRE (n.workspace, n.node_id) IS UNIQUE`,
    'CREATE CONSTRAINT millrace_fact IF NOT EXISTS FOR (n:MillraceFact) REQUIRE n.key IS UNIQUE',
    'CREATE INDEX millrace_fact_about IF NOT EXISTS FOR (n:MillraceFact) ON (n.about)',
    'CREATE CONSTRAINT millrace_source IF NOT EXISTS FOR (n:MillraceSource) REQUIRE n.key IS UNIQUE',
    'CREATE INDEX millrace_source_concept IF NOT EXISTS FOR (n:MillraceSource) ON (n.concept)',
    `CREATE INDEX millrace_node_id IF NOT EXISTS FOR (n:${nodeLabel}) ON (n.node_id)`,
    'CREATE INDEX millrace_session IF NOT EXISTS FOR (n:Session) ON (n.session_id)',
    'CALL db.awaitIndexes(300)',
  ],
];

const constraintNames = migrations
  .flat()
  .flatMap((text) => /^CREATE CONSTRAINT (\w+)/.exec(text)?.[1] ?? []);

export interface OpenedGraph {
  readonly graphId: string;
  readonly spillBytes: number;
}

const readGraph = `
MATCH (g:MillraceGraph {name: 'graph'})
RETURN g.version AS version, g.graph_id AS graphId, g.spill_bytes AS spillBytes`;

const makeGraph = `
MERGE (g:MillraceGraph {name: 'graph'})
ON CREATE SET g.graph_id = $graphId, g.spill_bytes = $spillBytes
SET g.version = $version`;

/** Brings the database to this version; makes the graph in an empty one. A newer one, and that of another program, is left as it is. */
export async function prepareDatabase(
  link: Neo4jLink,
  options: { readonly spillBytes: number; readonly chance: Chance; readonly timeoutMs: number },
): Promise<OpenedGraph> {
  await checkServer(link);
  const found = await readVersion(link, options.timeoutMs);
  if (found > neo4jFormatVersion)
    throw formatTooNew({
      thing: `the graph in Neo4j at ${link.uri}`,
      found,
      known: neo4jFormatVersion,
    });
  if (found < neo4jFormatVersion) {
    if (found === 0) await expectNoForeign(link, options.timeoutMs);
    await applyMigrations(link, found);
    const parameters = {
      graphId: options.chance.uuid(),
      spillBytes: BigInt(options.spillBytes),
      version: BigInt(neo4jFormatVersion),
    };
    await link.write((tx) => tx.run(statement(makeGraph, parameters)), options.timeoutMs);
  } else if (!(await isConstrained(link))) await applyMigrations(link, 0);
  const [row] = await link.read((tx) => tx.run(statement(readGraph)), options.timeoutMs);
  return { graphId: String(row?.['graphId']), spillBytes: Number(row?.['spillBytes']) };
}

/** Constraints and indexes of every version after `found`. */
export async function applyMigrations(link: Neo4jLink, found: number): Promise<void> {
  for (const texts of migrations.slice(found)) for (const text of texts) await link.alone(text);
}

/** Without its constraints a database would take twins; they are made again, and where there are twins already that fails (SC-040). */
async function isConstrained(link: Neo4jLink): Promise<boolean> {
  const rows = await link.alone('SHOW CONSTRAINTS YIELD name');
  const names = new Set(rows.map(({ name }) => name));
  return constraintNames.every((name) => names.has(name));
}

/** Refuses a server that is too old. */
export async function checkServer(link: Neo4jLink): Promise<void> {
  const agent = await link.agent();
  const [major = 0, minor = 0] = (/^Neo4j\/(\d+)\.(\d+)/.exec(agent) ?? []).slice(1).map(Number);
  const { major: oldestMajor, minor: oldestMinor } = oldestServer;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  const needed = `${oldestMajor}.${oldestMinor}`;
  throw graphUnavailable({
    reason: `the server at ${link.uri} is ${agent === '' ? 'none of Neo4j' : agent}, and Neo4j ${needed} or a newer one is needed`,
  });
}

async function readVersion(link: Neo4jLink, timeoutMs: number): Promise<number> {
  const [row] = await link.read((tx) => tx.run(statement(readGraph)), timeoutMs);
  return row === undefined ? 0 : Number(row['version']);
}

async function expectNoForeign(link: Neo4jLink, timeoutMs: number): Promise<void> {
  const half = "MATCH (c:MillraceCopy {name: 'copy'}) RETURN 1 AS one";
  if ((await link.read((tx) => tx.run(statement(half)), timeoutMs)).length > 0)
    throw graphUnavailable({
      reason: `the database at ${link.uri} holds half a copy: run "millrace graph copy" again`,
    });
  const text = `MATCH (n:${nodeLabel}) RETURN 1 AS one LIMIT 1`;
  const foreign = await link.read((tx) => tx.run(statement(text)), timeoutMs);
  if (foreign.length === 0) return;
  throw graphUnavailable({
    reason: `the database at ${link.uri} has nodes labelled ${nodeLabel} that are not millrace's: give it a database of its own`,
  });
}
