import type { JsonObject } from '#base';
import { queryRowsMax, type NamedQuery, type QueryParameter } from './named-query.ts';

/** A named query as a caller who has never seen it needs it: both schemas are JSON Schema 2020-12. */
export interface QueryDescription {
  readonly name: string;
  readonly tells: string;
  readonly columns: readonly string[];
  /** Of the object of parameters. */
  readonly parameters: JsonObject;
  /** Of one row as an object with a member for each column; a row of an answer has the same values in the order of the columns. */
  readonly row: JsonObject;
}

type ColumnKind = 'name' | 'text' | 'time' | 'count' | 'number' | 'scalar';

interface Column {
  readonly kind: ColumnKind;
  readonly tells: string;
}

/** Each column name means one thing in all queries. A `name` is never null. */
const columns: Readonly<Record<string, Column>> = {
  agent: { kind: 'text', tells: 'agent of the session' },
  at: { kind: 'time', tells: 'when it happened' },
  average_ms: { kind: 'number', tells: 'mean time of the calls that ended, milliseconds' },
  began_at: { kind: 'time', tells: 'when it began' },
  cache_read: { kind: 'number', tells: 'tokens read from the cache' },
  cache_write: { kind: 'number', tells: 'tokens written to the cache' },
  calls: { kind: 'count', tells: 'tool calls' },
  cost_usd: { kind: 'number', tells: 'cost as the provider told it, US dollars' },
  depth: { kind: 'count', tells: 'levels below the top' },
  detail: { kind: 'scalar', tells: 'first characters of what it is about' },
  ended_at: { kind: 'time', tells: 'when it ended; null while it runs' },
  event: { kind: 'name', tells: 'name of the event' },
  events: { kind: 'count', tells: 'events of the session' },
  failures: { kind: 'count', tells: 'calls that failed' },
  first_at: { kind: 'time', tells: 'the first time' },
  id: { kind: 'name', tells: 'node id' },
  input: { kind: 'number', tells: 'input tokens' },
  iterations: { kind: 'count', tells: 'requests to the model' },
  kind: { kind: 'text', tells: 'what it is' },
  last_at: { kind: 'time', tells: 'the last time' },
  last_updated: { kind: 'time', tells: 'time of its latest event' },
  message: { kind: 'scalar', tells: 'the error in words' },
  model: { kind: 'text', tells: 'model' },
  name: { kind: 'scalar', tells: 'its own name' },
  output: { kind: 'number', tells: 'output tokens' },
  parent: { kind: 'text', tells: 'session or node above it' },
  path: { kind: 'scalar', tells: 'path of the file' },
  provider: { kind: 'text', tells: 'provider of the model' },
  session: { kind: 'text', tells: 'session id' },
  sessions: { kind: 'count', tells: 'different sessions' },
  started_at: { kind: 'time', tells: 'when it started' },
  status: { kind: 'text', tells: 'how far it is, or how it ended' },
  tool: { kind: 'text', tells: 'name of the tool' },
  tools: { kind: 'text', tells: 'names of the tools, joined by commas' },
  touches: { kind: 'count', tells: 'how often' },
  unfinished: { kind: 'count', tells: 'calls without an end' },
  via: { kind: 'text', tells: 'type of the edge from its parent' },
  workspace: { kind: 'name', tells: 'workspace' },
};

/** Names, parameters and rows of a query as schemas; pure. */
export function describeQuery(query: NamedQuery): QueryDescription {
  const { name, tells } = query;
  return {
    name,
    tells,
    columns: query.columns,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(query.parameters).map(([one, parameter]) => [one, schemaOf(parameter)]),
      ),
      required: Object.keys(query.parameters).filter(
        (one) => query.parameters[one]?.isRequired === true,
      ),
      additionalProperties: false,
    },
    row: {
      type: 'object',
      properties: Object.fromEntries(query.columns.map((column) => [column, cellSchema(column)])),
      required: [...query.columns],
      additionalProperties: false,
    },
  };
}

function schemaOf({ kind, tells, default: preset, max }: QueryParameter): JsonObject {
  switch (kind) {
    case 'text':
    case 'session':
      return { type: 'string', minLength: 1, maxLength: 4096, description: tells };
    case 'workspaces':
      return {
        anyOf: [
          { type: 'string', minLength: 1 },
          { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 1000 },
        ],
        description: tells,
      };
    case 'count':
      return {
        type: 'integer',
        minimum: 1,
        maximum: max ?? queryRowsMax,
        ...(preset === undefined ? {} : { default: preset }),
        description: tells,
      };
    case 'time':
      return { type: 'string', format: 'date-time', description: tells };
  }
}

function cellSchema(column: string): JsonObject {
  const { kind, tells: description } = columns[column] ?? { kind: 'scalar', tells: column };
  switch (kind) {
    case 'name':
      return { type: 'string', description };
    case 'text':
      return { type: ['string', 'null'], description };
    case 'time':
      return { type: ['string', 'null'], format: 'date-time', description };
    case 'count':
      return { type: 'integer', minimum: 0, description };
    case 'number':
      return { type: ['number', 'null'], description };
    case 'scalar':
      return { type: ['string', 'number', 'null'], description };
  }
}

/** Whether every column has a meaning of its own: a test holds the queries to it. */
export function knowsColumn(column: string): boolean {
  return Object.hasOwn(columns, column);
}
