import { Type } from 'typebox';
import { reportGraph } from '#graph';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { withinWorkspaces } from '../within-workspaces.ts';
import { type Verb, defineStreamVerb, defineVerb } from '../verb.ts';

const nothing = Type.Object({}, { additionalProperties: false });
const counts = Type.Record(Type.String(), Type.Integer());

export const graphQueryVerb: Verb = defineVerb({
  name: 'graph query',
  summary: 'rows of a named query',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    { name: Type.String(), parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
    { additionalProperties: false },
  ),
  output: Type.Object({
    columns: Type.Array(Type.String()),
    rows: Type.Array(Type.Array(Type.Unknown())),
    /** Rows were left out by the query's limit. */
    has_more: Type.Boolean(),
  }),
  http: {
    method: 'POST',
    path: '/v1/graph/query/{name}',
    aliases: [{ method: 'POST', path: '/v1/queries/{name}' }],
  },
  async run(context, input, caller) {
    const parameters = withinWorkspaces(input.parameters ?? {}, caller);
    const { columns, rows, hasMore } = await context.graph.query(input.name, parameters);
    return { columns: [...columns], rows: rows.map((row) => [...row]), has_more: hasMore };
  },
});

export const graphDigestVerb: Verb = defineVerb({
  name: 'graph digest',
  summary: 'SHA-256 of the canonical graph',
  effect: 'read',
  scope: 'ops:read',
  input: nothing,
  output: Type.Object({ digest: Type.String(), nodes: Type.Integer(), edges: Type.Integer() }),
  http: { method: 'GET', path: '/v1/graph/digest' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'the digest');
    const { digest, nodes, edges } = await context.graph.digest();
    return { digest, nodes, edges };
  },
});

export const graphStatsVerb: Verb = defineVerb({
  name: 'graph stats',
  summary: 'nodes and edges by label and type',
  effect: 'read',
  scope: 'ops:read',
  input: nothing,
  output: Type.Object({
    nodes: Type.Integer(),
    edges: Type.Integer(),
    labels: counts,
    types: counts,
  }),
  http: { method: 'GET', path: '/v1/graph/stats' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'the count of nodes and edges');
    const { nodes, edges, labels, types } = await context.graph.stats();
    return { nodes, edges, labels: { ...labels }, types: { ...types } };
  },
});

export const graphCheckVerb: Verb = defineVerb({
  name: 'graph check',
  summary: 'whether each node and edge keeps the rules of the graph, and what is unresolved',
  effect: 'read',
  scope: 'ops:read',
  input: nothing,
  output: Type.Object({
    nodes: Type.Integer(),
    edges: Type.Integer(),
    placeholder_runs: Type.Integer(),
    unresolved_delegations: Type.Integer(),
    findings: Type.Array(
      Type.Object({
        rule: Type.String(),
        workspace: Type.String(),
        id: Type.String(),
        tells: Type.String(),
      }),
    ),
  }),
  http: { method: 'GET', path: '/v1/graph/check' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'the check');
    const report = await reportGraph(context.graph);
    return {
      nodes: report.nodes,
      edges: report.edges,
      placeholder_runs: report.placeholderRuns,
      unresolved_delegations: report.unresolvedDelegations,
      findings: report.findings.map((finding) => ({ ...finding })),
    };
  },
});

export const graphExportVerb: Verb = defineStreamVerb({
  name: 'graph export',
  summary: 'the canonical graph as NDJSON: node lines, then edge lines',
  effect: 'read',
  scope: 'ops:read',
  input: nothing,
  mediaType: 'application/x-ndjson',
  http: { method: 'GET', path: '/v1/graph/export' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'the export');
    return context.graph.export();
  },
});
