import type { Chance, Clock } from '#base';
import type { Key } from '#record';
import {
  graphCopyFailed,
  nothingChanged,
  type CopyPage,
  type CopyPhase,
  type CopyProgress,
  type CopySourceGraph,
  type CopyTargetGraph,
  type GraphIdentity,
} from '../copy-graph.ts';
import { graphUnavailable } from '../errors.ts';
import type { FenceMark } from '../fence-mark.ts';
import type { EdgeChange, GroupChanges } from '../group-changes.ts';
import type { SessionFact } from '../mutation.ts';
import { joined, statement, statementsFor } from './cypher.ts';
import { digestOf } from './export.ts';
import { readRows, runWrite, setRows } from './group-writer.ts';
import { Neo4jLink, type Neo4jAddress, type Row } from './link.ts';
import { applyMigrations, checkServer, neo4jFormatVersion } from './schema.ts';
import { edgeState, nodeLabel, nodeState } from './stored-form.ts';

const pageRows = 2_000n;
const timeoutMs = 600_000;

export interface CopyEndOptions extends Neo4jAddress {
  readonly clock: Clock;
  readonly chance: Chance;
}

/** A link whose close is the end's. */
function linkOf(options: CopyEndOptions): Neo4jLink {
  return new Neo4jLink(options, options.clock, options.chance);
}

const nodesText = `MATCH (n:${nodeLabel}) WHERE n.workspace = $w AND n.node_id > $id
RETURN n.workspace AS workspace, n.node_id AS id, labels(n) AS labels, properties(n) AS properties
ORDER BY n.workspace, n.node_id LIMIT $limit`;

const sourcesText = `UNWIND $concepts AS concept MATCH (s:MillraceSource {concept: concept})
RETURN s.key AS key, s.occurred_at AS time ORDER BY s.key`;

const lastText = `MATCH (n:${nodeLabel}) WHERE n.workspace = $w AND n.node_id > $id
WITH n.node_id AS id ORDER BY n.workspace, n.node_id LIMIT $limit RETURN max(id) AS last`;

const edgesText = `MATCH (n:${nodeLabel}) WHERE n.workspace = $w AND n.node_id > $id AND n.node_id <= $last
MATCH (n)-[e]->(m:${nodeLabel})
RETURN n.node_id AS from, type(e) AS type, m.node_id AS to, properties(e) AS properties`;

const factsText = `MATCH (f:MillraceFact) WHERE f.key > $after
RETURN f.key AS key, f.about AS about, f.source AS source, f.fact AS fact ORDER BY f.key LIMIT $limit`;

const workspaceText = `MATCH (n:${nodeLabel}) WHERE n.workspace > $after AND n.node_id IS NOT NULL
RETURN n.workspace AS w ORDER BY n.workspace, n.node_id LIMIT 1`;

const readGraphText = `MATCH (g:MillraceGraph {name: 'graph'})
RETURN g.graph_id AS graphId, g.spill_bytes AS spillBytes, g.version AS version,
  g.domain AS domain, g.generation AS generation, g.holder AS holder`;

/** The graph in a server that nobody writes to. */
export async function openNeo4jCopySource(options: CopyEndOptions): Promise<CopySourceGraph> {
  const link = linkOf(options);
  try {
    await checkServer(link);
    const [graph] = await link.read((tx) => tx.run(statement(readGraphText)), timeoutMs);
    if (graph === undefined)
      throw graphUnavailable({ reason: `there is no graph in Neo4j at ${link.uri}` });
    return new ServerSource(link, graph);
  } catch (error) {
    await link.close();
    throw error;
  }
}

class ServerSource implements CopySourceGraph {
  readonly #link: Neo4jLink;
  readonly #graph: Row;

  constructor(link: Neo4jLink, graph: Row) {
    this.#link = link;
    this.#graph = graph;
  }

  identity(): Promise<GraphIdentity> {
    const { graphId, spillBytes } = this.#graph;
    return Promise.resolve({ graphId: String(graphId), spillBytes: Number(spillBytes) });
  }

  mark(): Promise<FenceMark | undefined> {
    const { domain, generation, holder } = this.#graph;
    return Promise.resolve(
      typeof domain === 'string'
        ? { domain, generation: Number(generation), holder: String(holder) }
        : undefined,
    );
  }

  page(phase: CopyPhase, after: string): Promise<CopyPage | undefined> {
    switch (phase) {
      case 'nodes':
        return this.#perWorkspace(after, (w, id) => this.#nodes(w, id));
      case 'edges':
        return this.#perWorkspace(after, (w, id) => this.#edges(w, id));
      case 'facts':
        return this.#facts(after);
      case 'rows':
        return this.#rows(after);
    }
  }

  digest(): ReturnType<CopySourceGraph['digest']> {
    return digestOf(this.#link);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  /** One workspace after the other, so that the index gives each page. */
  async #perWorkspace(
    after: string,
    read: (workspace: string, id: string) => Promise<CopyPage | undefined>,
  ): Promise<CopyPage | undefined> {
    let [w, id] = after === '' ? [undefined, ''] : (JSON.parse(after) as [string, string]);
    for (;;) {
      if (w !== undefined) {
        const page = await read(w, id);
        if (page !== undefined) return page;
      }
      const [next] = await this.#run(workspaceText, { after: w ?? '' });
      if (next === undefined) return undefined;
      [w, id] = [String(next['w']), ''];
    }
  }

  async #nodes(w: string, after: string): Promise<CopyPage | undefined> {
    const rows = await this.#run(nodesText, { w, id: after, limit: pageRows });
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    const states = rows.map(({ id, labels, properties }) => {
      const stored = properties as Readonly<Record<string, unknown>>;
      return [String(id), nodeState(String(id), labels as readonly string[], stored)] as const;
    });
    const concepts = states.filter(([, { owner }]) => owner === null).map(([id]) => joined(w, id));
    const named = concepts.length === 0 ? [] : await this.#run(sourcesText, { concepts });
    const changes: GroupChanges = {
      ...nothingChanged,
      nodes: new Map(states.map(([id, state]) => [id, { before: undefined, after: state }])),
      conceptSources: named.map(({ key, time }) => {
        const [, id = '', session = ''] = String(key).split('\u0000');
        return { id, session, occurredAt: String(time) };
      }),
    };
    const next = JSON.stringify([w, String(last['id'])]);
    return { changes: new Map([[w, changes]]), rows: new Map(), next, count: rows.length };
  }

  async #edges(w: string, after: string): Promise<CopyPage | undefined> {
    const [ends] = await this.#run(lastText, { w, id: after, limit: pageRows });
    const last = ends?.['last'];
    if (typeof last !== 'string') return undefined;
    const found = await this.#run(edgesText, { w, id: after, last });
    const edges = new Map<string, EdgeChange>();
    for (const { from, type, to, properties } of found) {
      const state = edgeState(properties as Readonly<Record<string, unknown>>);
      const place = { from: String(from), type: String(type), to: String(to) };
      edges.set(joined(place.from, place.type, place.to), { ...place, isReplaced: false, state });
    }
    const changes = new Map([[w, { ...nothingChanged, edges }]]);
    return { changes, rows: new Map(), next: JSON.stringify([w, last]), count: found.length };
  }

  async #facts(after: string): Promise<CopyPage | undefined> {
    const rows = await this.#run(factsText, { after, limit: pageRows });
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    const told = Map.groupBy(rows, ({ about }) => String(about).split('\u0000')[0] ?? '');
    const changes = new Map(
      [...told].map(([workspace, some]): [string, GroupChanges] => [
        workspace,
        {
          ...nothingChanged,
          factChanges: some.map(({ about, source, fact }) => ({
            about: String(about).split('\u0000')[1] ?? '',
            source: String(source),
            fact: JSON.parse(String(fact)) as SessionFact,
          })),
        },
      ]),
    );
    return { changes, rows: new Map(), next: String(last['key']), count: rows.length };
  }

  async #rows(after: string): Promise<CopyPage | undefined> {
    const which = { after: after as Key, limit: Number(pageRows) };
    const rows = await this.#link.read((tx) => readRows(tx, which), timeoutMs);
    const last = [...rows.keys()].at(-1);
    if (last === undefined) return undefined;
    return { changes: new Map(), rows, next: last, count: rows.size };
  }

  #run(text: string, parameters: Readonly<Record<string, unknown>>): Promise<readonly Row[]> {
    return this.#link.read((tx) => tx.run(statement(text, parameters)), timeoutMs);
  }
}

const keepProgress = `MERGE (c:MillraceCopy {name: 'copy'}) SET c.progress = $progress`;
const readProgress = `MATCH (c:MillraceCopy {name: 'copy'}) RETURN c.progress AS progress`;
const emptyText = `MATCH (n) WHERE n:${nodeLabel} OR n:MillraceFact OR n:MillraceSource OR n:FenceGuard OR n:MillraceCopy
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS`;
const makeGuards = 'UNWIND $keys AS key MERGE (:FenceGuard {resource: key})';
const finishText = `MATCH (c:MillraceCopy) DELETE c
MERGE (g:MillraceGraph {name: 'graph'})
SET g.graph_id = $graphId, g.spill_bytes = $spillBytes, g.version = $version,
  g.domain = $domain, g.generation = $generation, g.holder = $holder`;

/** A database without a graph, or with half of one. Until it is whole no daemon takes it. */
export async function openNeo4jCopyTarget(options: CopyEndOptions): Promise<CopyTargetGraph> {
  const link = linkOf(options);
  try {
    await checkServer(link);
    await applyMigrations(link, 0);
    return new ServerTarget(link);
  } catch (error) {
    await link.close();
    throw error;
  }
}

class ServerTarget implements CopyTargetGraph {
  readonly #link: Neo4jLink;

  constructor(link: Neo4jLink) {
    this.#link = link;
  }

  async progress(): Promise<CopyProgress | undefined> {
    const [[graph], [copy], [foreign]] = await this.#link.read(
      (tx) =>
        Promise.all([
          tx.run(statement(readGraphText)),
          tx.run(statement(readProgress)),
          tx.run(statement(`MATCH (n:${nodeLabel}) RETURN 1 AS one LIMIT 1`)),
        ]),
      timeoutMs,
    );
    if (graph !== undefined)
      throw graphCopyFailed({ reason: `there is a graph in Neo4j at ${this.#link.uri} already` });
    if (copy !== undefined) return JSON.parse(String(copy['progress'])) as CopyProgress;
    if (foreign === undefined) return undefined;
    const reason = `the database at ${this.#link.uri} has nodes labelled ${nodeLabel} that are not millrace's`;
    throw graphCopyFailed({ reason });
  }

  async begin(progress: CopyProgress): Promise<void> {
    await this.#link.alone(emptyText);
    await this.#link.write((tx) => tx.run(keeping(progress)), timeoutMs);
  }

  async write({ changes, rows }: CopyPage, progress: CopyProgress): Promise<void> {
    await this.#link.write(async (tx) => {
      for (const [workspace, changed] of changes)
        for (const one of statementsFor(workspace, changed, new Map())) await runWrite(tx, one);
      if (rows.size > 0) {
        await tx.run(statement(makeGuards, { keys: [...rows.keys()] }));
        await setRows(tx, rows);
      }
      await tx.run(keeping(progress));
    }, timeoutMs);
  }

  digest(): ReturnType<CopyTargetGraph['digest']> {
    return digestOf(this.#link);
  }

  async finish(identity: GraphIdentity, mark: FenceMark | undefined): Promise<void> {
    const parameters = {
      graphId: identity.graphId,
      spillBytes: BigInt(identity.spillBytes),
      version: BigInt(neo4jFormatVersion),
      domain: mark?.domain ?? null,
      generation: mark === undefined ? null : BigInt(mark.generation),
      holder: mark?.holder ?? null,
    };
    await this.#link.write((tx) => tx.run(statement(finishText, parameters)), timeoutMs);
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

function keeping(progress: CopyProgress): ReturnType<typeof statement> {
  return statement(keepProgress, { progress: JSON.stringify(progress) });
}
