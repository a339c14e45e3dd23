import { Type } from 'typebox';
import { nodeUnknown } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import { readOffset } from '../offset-token.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';
import { withinWorkspaces } from '../within-workspaces.ts';

const neighboursDefault = 50;
const neighboursMax = 500;
/** Characters of a text of a neighbour; the node in the middle is whole. */
const previewLength = 240;
/** One question of the three that an answer takes. */
const limits = { rows: neighboursMax + 1, bytes: 16 * 2 ** 20, timeMs: 5000 };

const nodeShape = Type.Object({
  id: Type.String(),
  workspace: Type.String(),
  labels: Type.Array(Type.String()),
  properties: Type.Record(Type.String(), Type.Unknown()),
  /** Properties of which only the beginning is here. */
  cut: Type.Optional(Type.Array(Type.String())),
});

const edgeShape = Type.Object({
  from: Type.String(),
  type: Type.String(),
  to: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

export interface GraphNode {
  readonly id: string;
  readonly workspace: string;
  readonly labels: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
}

interface GraphEdge {
  readonly from: string;
  readonly type: string;
  readonly to: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Edges of one direction; the types are told by number of edges. */
const arrows = { out: '-[r]->', in: '<-[r]-', both: '-[r]-' } as const;

export const neighboursVerb: Verb = defineVerb({
  name: 'graph neighbours',
  summary: 'one node, how many edges of which type it has, and a page of them with their far ends',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    {
      node: Type.String({ minLength: 1, maxLength: 4096 }),
      workspace: Type.String({ minLength: 1 }),
      type: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      direction: Type.Optional(
        Type.Union([Type.Literal('out'), Type.Literal('in'), Type.Literal('both')]),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: neighboursMax })),
      page_token: Type.Optional(Type.String({ maxLength: 64 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    node: nodeShape,
    degrees: Type.Array(
      Type.Object({
        type: Type.String(),
        direction: Type.Union([Type.Literal('out'), Type.Literal('in')]),
        count: Type.Integer(),
      }),
    ),
    nodes: Type.Array(nodeShape),
    edges: Type.Array(edgeShape),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/graph/neighbours' },
  async run(context, input, caller) {
    const { node, workspace, type, direction = 'both', limit = neighboursDefault } = input;
    withinWorkspaces({ workspace }, caller);
    const offset = readOffset(input.page_token);
    const ask = asker(context, { workspace, node }, caller);
    const [[centre] = []] = await ask('MATCH (n {node_id: $id}) RETURN n', {});
    if (centre === undefined) throw nodeUnknown({ node, workspace });
    const counts = await Promise.all(
      (['out', 'in'] as const).map(async (one) => {
        const text = `MATCH (n {node_id: $id})${arrows[one]}() RETURN type(r) AS type, count(*) AS count ORDER BY type`;
        return (await ask(text, {})).map(([name, count]) => ({
          type: name as string,
          direction: one,
          count: count as number,
        }));
      }),
    );
    const rows = await ask(
      `MATCH (n {node_id: $id})${arrows[direction]}(m) WHERE $type IS NULL OR type(r) = $type
       RETURN r, m ORDER BY type(r), toString(coalesce(r.occurred_at, m.started_at, m.occurred_at)), m.node_id
       SKIP $skip LIMIT $limit`,
      { type: type ?? null, skip: offset, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    const far = new Map(page.map(([, other]) => [(other as GraphNode).id, other as GraphNode]));
    far.delete(node);
    return {
      node: whole(centre as GraphNode),
      degrees: counts.flat(),
      nodes: [...far.values()].map(preview),
      edges: page.map(([edge]) => edgeOf(edge as GraphEdge)),
      ...(rows.length > limit ? { next_page_token: String(offset + limit) } : {}),
    };
  },
});

/** Asks about one node of one workspace; the caller was checked. */
function asker(
  context: OpsContext,
  { workspace, node }: { readonly workspace: string; readonly node: string },
  { signal }: Caller,
): (
  text: string,
  parameters: Readonly<Record<string, unknown>>,
) => Promise<readonly (readonly unknown[])[]> {
  return async (text, parameters) => {
    const all = { ...parameters, id: node };
    const query = { text, parameters: all, workspaces: [workspace], limits };
    return (await context.graph.cypher(query, signal)).rows;
  };
}

function whole({ id, workspace, labels, properties }: GraphNode) {
  return { id, workspace, labels: [...labels], properties: { ...properties } };
}

/** Large texts of a neighbour are of no use in a picture: their beginning, and the names of what was cut. */
function preview(node: GraphNode) {
  const cut: string[] = [];
  const properties = Object.entries(node.properties).map(([name, value]): [string, unknown] => {
    if (typeof value !== 'string' || value.length <= previewLength) return [name, value];
    cut.push(name);
    return [name, `${value.slice(0, previewLength).toWellFormed()}…`];
  });
  const kept = { ...whole(node), properties: Object.fromEntries(properties) };
  return cut.length === 0 ? kept : { ...kept, cut };
}

function edgeOf({ from, type, to, properties }: GraphEdge) {
  return { from, type, to, properties: { ...properties } };
}
