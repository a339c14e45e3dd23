import type { Expression, MatchClause, PathPattern } from './ast.ts';
import { compileCondition } from './compile-expression.ts';
import { planPattern, type Binding } from './plan-pattern.ts';
import { runSteps, type Step } from './match-steps.ts';
import { hasAny, type Evaluate, type Place, type Row, type Run } from './scope.ts';
import type { Scope, Source, Test } from './scope.ts';
import { ShortestPaths, type ShortestPlan } from './shortest-path.ts';
import type { Value } from './values.ts';

/** Rows out of a row. */
export type Expand = (row: Row, run: Run) => Generator<Row>;

export interface CompiledMatch {
  readonly scope: Scope;
  readonly expand: Expand;
}

/** MATCH and OPTIONAL MATCH: patterns in an order in which each begins where something is known, conditions as soon as they can be answered. */
export function compileMatch(clause: MatchClause, source: Source, before: Scope): CompiledMatch {
  const { scope, expand } = compilePatterns(clause.patterns, clause.where, source, before);
  if (!clause.isOptional) return { scope, expand };
  return { scope, expand: orNulls(expand, scope.size) };
}

function orNulls(expand: Expand, size: number): Expand {
  return function* optional(row, run) {
    let isFound = false;
    for (const found of expand(row, run)) {
      isFound = true;
      yield found;
    }
    if (!isFound) yield padded(row, size);
  };
}

function padded(row: Row, size: number): Row {
  return [...row, ...Array.from({ length: size - row.length }, () => null)];
}

/** Patterns that are matched together: no relationship twice among them. */
export function compilePatterns(
  patterns: readonly PathPattern[],
  where: Expression | undefined,
  source: Source,
  before: Scope,
): CompiledMatch {
  const binding: Binding = { source, scope: before, conditions: conjuncts(where), searches: [] };
  const steps: Step[] = [];
  const left = [...patterns];
  while (left.length > 0) {
    const next = left.splice(indexOfNext(left, binding), 1)[0];
    if (next !== undefined) steps.push(...planPattern(next, binding));
  }
  const { scope, searches } = binding;
  const rest = compileAll(binding.conditions, { source, scope });
  return { scope, expand: expandWith(steps, searches, rest, scope.size) };
}

function expandWith(
  steps: readonly Step[],
  searches: readonly ShortestPlan[],
  rest: Test,
  size: number,
): Expand {
  if (searches.length === 0)
    return function* expand(row, run) {
      for (const matched of runSteps(steps, padded(row, size), run)) {
        run.budget.fresh();
        if (rest(matched, run)) yield matched;
      }
    };
  const paths = searches.map((plan) => new ShortestPaths(plan));
  return function* expand(row, run) {
    for (const matched of runSteps(steps, padded(row, size), run))
      for (const found of withSearches(paths, 0, matched, run)) if (rest(found, run)) yield found;
  };
}

/** Shortest paths come last: both of their ends are known then. */
function* withSearches(
  searches: readonly ShortestPaths[],
  at: number,
  row: Row,
  run: Run,
): Generator<Row> {
  const search = searches[at];
  if (search === undefined) {
    yield row;
    return;
  }
  for (const found of search.of(row, run)) yield* withSearches(searches, at + 1, found, run);
}

function conjuncts(where: Expression | undefined): Expression[] {
  if (where === undefined) return [];
  if (where.kind !== 'binary' || where.operator !== 'and') return [where];
  return [...conjuncts(where.left), ...conjuncts(where.right)];
}

function compileAll(conditions: readonly Expression[], place: Place): Test {
  const tests = conditions.map((condition) => compileCondition(condition, place));
  return (row, run) => tests.every((test) => test(row, run));
}

/** One that hangs on what is known already, else the one with the most selective begin. */
function indexOfNext(patterns: readonly PathPattern[], { scope }: Binding): number {
  const ranks = patterns.map(({ nodes }) =>
    Math.min(
      ...nodes.map(({ variable, labels, properties }) => {
        if (variable !== undefined && scope.slotOf(variable) !== undefined) return 0;
        return 3 - (labels === undefined ? 0 : 1) - (properties === undefined ? 0 : 1);
      }),
    ),
  );
  return ranks.indexOf(Math.min(...ranks));
}

/** `(n)-->(:X)` as a condition: whether there is one. A variable that is not known before has no meaning in it. */
export function compilePatternPredicate(pattern: PathPattern, place: Place): Evaluate {
  const { source, scope } = place;
  for (const { variable, at } of [...pattern.nodes, ...pattern.relationships])
    if (variable !== undefined && scope.slotOf(variable) === undefined)
      throw source.fault(at, `the variable ${variable} is not known here; say EXISTS { … }`);
  const { expand } = compilePatterns([pattern], undefined, source, scope);
  return (row, run) => hasAny(expand(row, run));
}

/** `shortestPath(…)` as a value: the path, or a list of paths, or null. */
export function compileShortestPath(pattern: PathPattern, place: Place): Evaluate {
  const { source, scope } = place;
  for (const { variable, at } of pattern.nodes)
    if (variable === undefined || scope.slotOf(variable) === undefined)
      throw source.fault(at, 'a shortest path as a value runs between two nodes that are known');
  const named = { ...pattern, variable: ' path' };
  const { expand, scope: inner } = compilePatterns([named], undefined, source, scope);
  const slot = inner.slotOf(' path') ?? 0;
  return (row, run) => {
    const found: Value[] = [];
    for (const one of expand(row, run)) found.push(one[slot] ?? null);
    return pattern.search === 'shortest' ? (found[0] ?? null) : found;
  };
}
