import { parseTimestamp, sessionNodeId } from '#record';
import { queryInvalid } from '../errors.ts';
import type { NamedQuery, QueryParameter } from './named-query.ts';

export type QueryBindings = Readonly<Record<string, string | number | null>>;

/** Characters of one text parameter, and names in a list. */
const textLengthMax = 4096;
const workspacesMax = 1000;

/**
 * A caller's parameters as a store binds them, defaults filled in; what was left out is null. QUERY_INVALID names the parameter. A whole number
 * may come as text, since a command line has nothing else.
 */
export function bindParameters(
  query: NamedQuery,
  given: Readonly<Record<string, unknown>>,
): QueryBindings {
  for (const parameter of Object.keys(given)) {
    if (!Object.hasOwn(query.parameters, parameter)) {
      const reason = `is not known; there are ${Object.keys(query.parameters).join(', ')}`;
      throw queryInvalid({ name: query.name, parameter, reason });
    }
  }
  const bindings: Record<string, string | number | null> = {};
  for (const [name, parameter] of Object.entries(query.parameters)) {
    const value = given[name] ?? undefined;
    if (value === undefined && parameter.isRequired === true)
      throw queryInvalid({ name: query.name, parameter: name, reason: 'is required' });
    const bound = value === undefined ? (parameter.default ?? null) : parse(parameter, value);
    if (bound instanceof Refusal)
      throw queryInvalid({ name: query.name, parameter: name, reason: bound.reason });
    bindings[name] = bound;
    if (parameter.kind === 'session')
      bindings[`${name}_node`] = bound === null ? null : sessionNodeId(String(bound));
  }
  return bindings;
}

class Refusal {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

function parse(parameter: QueryParameter, value: unknown): string | number | Refusal {
  switch (parameter.kind) {
    case 'text':
    case 'session':
      return parseText(value);
    case 'workspaces':
      return parseNames(value);
    case 'count':
      return parseCount(value, parameter.max);
    case 'time': {
      const time = typeof value === 'string' ? parseTimestamp(value) : undefined;
      return time?.canonical ?? new Refusal('must be a time such as 2026-01-31T09:00:00Z');
    }
  }
}

function parseText(value: unknown): string | Refusal {
  if (typeof value !== 'string' || value === '') return new Refusal('must be a text');
  return value.length > textLengthMax
    ? new Refusal(`must have at most ${textLengthMax} characters`)
    : value;
}

function parseNames(value: unknown): string | Refusal {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length > workspacesMax)
    return new Refusal(`must be at most ${workspacesMax} workspaces`);
  const texts = names.map(parseText);
  return texts.find((text) => text instanceof Refusal) ?? JSON.stringify(texts);
}

function parseCount(value: unknown, max: number | undefined): number | Refusal {
  const isDigits = typeof value === 'string' && /^[0-9]{1,15}$/.test(value);
  const count = isDigits ? Number(value) : value;
  const top = max ?? Number.MAX_SAFE_INTEGER;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 1 || count > top)
    return new Refusal(`must be a whole number from 1 to ${top}`);
  return count;
}
