import { Type } from 'typebox';
import { type Verb, defineStreamVerb, defineVerb } from './verb.ts';

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
  }),
  http: { method: 'POST', path: '/v1/graph/query/{name}' },
  async run(context, input, caller) {
    const [only, ...others] = caller.workspaces ?? [];
    const bound = only !== undefined && others.length === 0 ? { workspace: only } : {};
    const result = await context.graph.query(input.name, { ...input.parameters, ...bound });
    return { columns: [...result.columns], rows: result.rows.map((row) => [...row]) };
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
  async run(context) {
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
  async run(context) {
    const { nodes, edges, labels, types } = await context.graph.stats();
    return { nodes, edges, labels: { ...labels }, types: { ...types } };
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
  run: (context) => Promise.resolve(context.graph.export()),
});
