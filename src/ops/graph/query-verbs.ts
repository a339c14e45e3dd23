import { Type } from 'typebox';
import { describeQuery, namedQueries, namedQuery, type QueryDescription } from '#graph';
import { type Verb, defineVerb } from '../verb.ts';

/** JSON Schema as it is: what is in it is for the caller's own tools. */
const jsonSchema = Type.Record(Type.String(), Type.Unknown());

const queryRow = Type.Object({
  name: Type.String(),
  tells: Type.String(),
  columns: Type.Array(Type.String()),
  parameters: jsonSchema,
  row: jsonSchema,
});

function rowOf({ name, tells, columns, parameters, row }: QueryDescription) {
  return { name, tells, columns: [...columns], parameters: { ...parameters }, row: { ...row } };
}

export const queriesListVerb: Verb = defineVerb({
  name: 'queries list',
  summary: 'every named query with the JSON schemas of its parameters and rows',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({ queries: Type.Array(queryRow) }),
  http: { method: 'GET', path: '/v1/queries' },
  run: () => Promise.resolve({ queries: namedQueries.map((one) => rowOf(describeQuery(one))) }),
});

export const queriesShowVerb: Verb = defineVerb({
  name: 'queries show',
  summary: 'one named query with the JSON schemas of its parameters and rows',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object({ name: Type.String() }, { additionalProperties: false }),
  output: queryRow,
  http: { method: 'GET', path: '/v1/queries/{name}' },
  run: async (_context, { name }) => rowOf(describeQuery(namedQuery(name))),
});
