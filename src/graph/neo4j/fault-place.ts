import type { Query } from '../cypher/ast.ts';
import { partsOf } from '../cypher/walk-tree.ts';

interface Trace {
  /** What the server says of such a fault. */
  readonly words: RegExp;
  /** Places of all parts of a query that can have it; the match may name a function. */
  places(query: Query, name: string): readonly number[];
}

const signs = ['+', '-', '*', '/', '%', '^'];

const traces: readonly Trace[] = [
  { words: /by zero/, places: (query) => operators(query, '/', '%') },
  { words: /overflow/, places: (query) => operators(query, '+', '-', '*') },
  { words: /of function (\w+)\(/, places: calls },
  { words: /Cannot parse '.*' as an? (\w+)/s, places: (query, kind) => calls(query, kindOf(kind)) },
  { words: /cannot process '/, places: (query) => operators(query, '=~') },
  { words: /'step'/, places: (query) => calls(query, 'range') },
  { words: /negative start index/, places: (query) => calls(query, 'substring', 'left', 'right') },
  { words: /'(?:LIMIT|SKIP)'/, places: limits },
  {
    words: /to be of type (?:INTEGER|FLOAT|NUMBER)/,
    places: (query) => operators(query, ...signs),
  },
];

/**
 * Where in a query a fault lies that the server met while the query ran, and told without a place: known where one part alone can have it.
 */
export function faultPlace(query: Query, message: string): number | undefined {
  for (const { words, places } of traces) {
    const found = words.exec(message);
    if (found === null) continue;
    const [only, ...others] = places(query, found[1] ?? '');
    return others.length === 0 ? only : undefined;
  }
  return undefined;
}

function operators(query: Query, ...wanted: readonly string[]): readonly number[] {
  return partsOf(query, 'binary')
    .filter(({ operator }) => wanted.includes(operator))
    .map(({ at }) => at);
}

function calls(query: Query, ...names: readonly string[]): readonly number[] {
  const wanted = names.map((name) => name.toLowerCase());
  return partsOf(query, 'call')
    .filter(({ name }) => wanted.includes(name))
    .map(({ at }) => at);
}

function kindOf(kind: string): string {
  return kind === 'Date' || kind === 'Duration' ? kind : 'datetime';
}

function limits(query: Query): readonly number[] {
  return query.parts
    .flatMap(({ clauses }) => clauses)
    .flatMap((clause) => ('projection' in clause ? [clause.projection] : []))
    .flatMap(({ skip, limit }) => [skip, limit])
    .flatMap((bound) => (bound === undefined ? [] : [bound.at]));
}
