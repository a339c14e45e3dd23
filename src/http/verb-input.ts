import { Value } from 'typebox/value';
import { Compile } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { inputInvalid } from './errors.ts';

/** Where members of a verb's input stand in a request. */
export interface InputParts {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** What the JSON body is; undefined without one. */
  readonly body: unknown;
}

/**
 * Joins a verb's input from its parts and checks it; throws INPUT_INVALID naming the member. Path and query hold text, so they are read as the
 * schema wants them (`limit=5` is a number); a JSON body says its types itself and is taken as it is. The schema is compiled at its first use: for all
 * verbs together that would be 30 ms of each start.
 */
export function createInputReader(schema: TSchema): (parts: InputParts) => unknown {
  let compiled: ReturnType<typeof Compile> | undefined;
  return ({ path, query, body }) => {
    const texts = Value.Convert(schema, { ...query, ...path }) as Record<string, unknown>;
    const input: unknown = body === undefined ? texts : joined(texts, body);
    compiled ??= Compile(schema);
    if (compiled.Check(input)) return input;
    throw inputInvalid(explain(schema, compiled.Errors(input)));
  };
}

function joined(texts: Readonly<Record<string, unknown>>, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw inputInvalid({ member: 'the body', reason: 'must be a JSON object' });
  return { ...body, ...texts };
}

interface SchemaFault {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** The first fault in words; a member that is missing or too much stands in the fault's parameters, any other in its path. */
function explain(
  schema: TSchema,
  faults: readonly SchemaFault[],
): {
  readonly member: string;
  readonly reason: string;
} {
  const excess = faults.find(({ keyword }) => keyword === 'additionalProperties');
  const fault = excess ?? faults[0];
  const { requiredProperties, additionalProperties } = (fault?.params ?? {}) as {
    readonly requiredProperties?: readonly string[];
    readonly additionalProperties?: readonly string[];
  };
  const outer = (fault?.instancePath ?? '').split('/').slice(1);
  const [missing] = requiredProperties ?? [];
  if (missing !== undefined) return { member: [...outer, missing].join('.'), reason: 'is missing' };
  const [extra] = additionalProperties ?? [];
  if (extra !== undefined)
    return { member: [...outer, extra].join('.'), reason: 'is not known here' };
  const reason = wanted(schema, outer, fault?.keyword) ?? fault?.message;
  return { member: outer.join('.'), reason: reason ?? 'is not what is asked for' };
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly { readonly const?: unknown }[];
}

/** What would have been right, in words: the values that there are, or what the schema says of its pattern. Nobody should have to read a regular expression. */
function wanted(
  schema: TSchema,
  path: readonly string[],
  keyword: string | undefined,
): string | undefined {
  let node: SchemaNode | undefined = schema as SchemaNode;
  for (const name of path) node = node?.properties?.[name];
  if (keyword === 'pattern')
    return node?.description === undefined ? undefined : `must be ${node.description}`;
  const values = node?.enum ?? node?.anyOf?.map((one) => one.const) ?? [];
  return values.length > 0 && values.every((value) => typeof value === 'string')
    ? `must be one of ${values.join(', ')}`
    : undefined;
}
