import { Type } from 'typebox';
import { type Caller, type Verb, defineVerb } from '../verb.ts';
import { withinWorkspaces } from '../within-workspaces.ts';

/** Limits of one query; a caller may ask for less. */
const cypherRowsDefault = 1000;
const cypherRowsMax = 10_000;
const cypherBytesMax = 16 * 2 ** 20;
const cypherTimeMsDefault = 5000;
const cypherTimeMsMax = 30_000;

const cypherInput = Type.Object(
  {
    query: Type.String({ minLength: 1 }),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    /** Only this workspace, or one of these. */
    workspace: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: cypherRowsMax })),
    timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: cypherTimeMsMax })),
  },
  { additionalProperties: false },
);

/** Never anything but what the caller may see: the query itself has no say in it. */
function visibleWorkspaces(
  workspace: string | readonly string[] | undefined,
  caller: Caller,
): readonly string[] | undefined {
  const { workspace: names } = withinWorkspaces(
    workspace === undefined ? {} : { workspace },
    caller,
  );
  if (names === undefined) return undefined;
  return typeof names === 'string' ? [names] : (names as readonly string[]);
}

export const graphCypherVerb: Verb = defineVerb({
  name: 'graph cypher',
  summary: 'rows of a read-only Cypher query',
  effect: 'read',
  scope: 'ingest:read',
  input: cypherInput,
  output: Type.Object({
    columns: Type.Array(Type.String()),
    rows: Type.Array(Type.Array(Type.Unknown())),
    /** Rows were left out by `limit` or by the size of the answer. */
    has_more: Type.Boolean(),
  }),
  http: { method: 'POST', path: '/v1/cypher' },
  async run(context, input, caller) {
    const { query: text, parameters = {}, workspace, limit, timeout_ms } = input;
    const workspaces = visibleWorkspaces(workspace, caller);
    const limits = {
      rows: limit ?? cypherRowsDefault,
      bytes: cypherBytesMax,
      timeMs: timeout_ms ?? cypherTimeMsDefault,
    };
    const query = { text, parameters, workspaces, limits };
    const { columns, rows, hasMore } = await context.graph.cypher(query, caller.signal);
    return { columns: [...columns], rows: rows.map((row) => [...row]), has_more: hasMore };
  },
});

/** The predecessor's view of the same (D16): an object per row, a node as its properties, an edge as start, type and end. */
export const cypherVerb: Verb = defineVerb({
  name: 'cypher',
  summary: 'rows of a read-only Cypher query, as the predecessor answers them',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object({
    query: Type.String({ minLength: 1 }),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    workspace: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
  output: Type.Object({ results: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
  http: { method: 'POST', path: '/cypher' },
  async run(context, { query: text, params = {}, workspace }, caller) {
    const isNamed = typeof workspace === 'string' && workspace !== '*';
    const workspaces = visibleWorkspaces(isNamed ? workspace : undefined, caller);
    const parameters = isNamed ? { ...params, workspace } : params;
    const limits = { rows: cypherRowsMax, bytes: cypherBytesMax, timeMs: cypherTimeMsDefault };
    const query = { text, parameters, workspaces, limits };
    const { columns, rows } = await context.graph.cypher(query, caller.signal);
    return {
      results: rows.map((row) =>
        Object.fromEntries(columns.map((column, at) => [column, plain(row[at])])),
      ),
    };
  },
});

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(members).join();
  if (keys === 'id,workspace,labels,properties') return members['properties'];
  if (keys === 'from,type,to,properties')
    return [{ node_id: members['from'] }, members['type'], { node_id: members['to'] }];
  return Object.fromEntries(Object.entries(members).map(([key, one]) => [key, plain(one)]));
}
