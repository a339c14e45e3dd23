import { configKeyNames, environmentName, specOf, type ConfigKey } from './schema.ts';
import type { KeySpec } from './key-spec.ts';

export interface JsonSchema {
  readonly [member: string]: unknown;
}

const draft = 'https://json-schema.org/draft/2020-12/schema';
const sizePattern = '^\\d+(\\.\\d+)?\\s*(([kKmMgGtT][iI]?)?[bB])?$';
const durationPattern = '^\\d+(\\.\\d+)?\\s*(ms|s|m|min|h|d)?$';

/** `millrace.yaml` as a JSON Schema, for editors and for checks in CI. A key may stand nested or dotted; an unknown one is refused either way. Pure. */
export function configJsonSchema(): JsonSchema {
  const root = branch();
  for (const key of configKeyNames) {
    const leaf = leafSchema(key);
    place(root, key.split('.'), leaf);
    if (key.includes('.')) root.properties[key] = leaf;
  }
  return {
    $schema: draft,
    title: 'millrace.yaml',
    description: 'Settings of the millrace daemon.',
    ...root,
  };
}

interface Branch {
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly properties: Record<string, unknown>;
}

function branch(): Branch {
  return { type: 'object', additionalProperties: false, properties: {} };
}

function place(into: Branch, names: readonly string[], leaf: JsonSchema): void {
  const [first = '', ...rest] = names;
  if (rest.length === 0) {
    into.properties[first] = leaf;
    return;
  }
  const inner = (into.properties[first] ??= branch()) as Branch;
  place(inner, rest, leaf);
}

function leafSchema(key: ConfigKey): JsonSchema {
  const spec = specOf(key);
  return {
    description: `${spec.help}. Environment: ${environmentName(key)}.${spec.isLive === true ? ' A reload changes it.' : ''}`,
    ...kindSchemas[spec.kind](spec),
    ...(spec.default === null ? {} : { default: defaultOf(spec.kind, spec.default) }),
    ...(spec.isSecret === true ? { writeOnly: true } : {}),
  };
}

const kindSchemas: Readonly<Record<KeySpec['kind'], (spec: KeySpec) => JsonSchema>> = {
  text: () => ({ type: 'string', minLength: 1 }),
  list: () => ({
    anyOf: [{ type: 'array', items: { type: 'string', pattern: '^[^,]*$' } }, { type: 'string' }],
  }),
  count: ({ least = 1 }) => ({ type: 'integer', minimum: least }),
  size: ({ least = 1 }) => numberOrText(least, sizePattern),
  duration: ({ least = 1 }) => numberOrText(least, durationPattern),
  address: () => ({ type: 'string', pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^\\s:\\[\\]/]+):\\d{1,5}$' }),
  choice: ({ choices = [] }) => ({ type: 'string', enum: [...choices] }),
  flag: () => ({ type: 'boolean' }),
};

function defaultOf(kind: KeySpec['kind'], text: string): unknown {
  if (kind === 'count') return Number(text);
  if (kind === 'flag') return text === 'true';
  if (kind === 'list') return text === '' ? [] : text.split(',');
  return text;
}

function numberOrText(minimum: number, pattern: string): JsonSchema {
  return {
    anyOf: [
      { type: 'integer', minimum },
      { type: 'string', pattern },
    ],
  };
}
