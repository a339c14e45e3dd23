import type { Expression, Projection, ProjectionItem, SortItem } from './ast.ts';
import { accumulatorOf, distinct, type Accumulator } from './aggregates.ts';
import {
  compileCondition as conditionOf,
  compileExpression,
  failAt,
} from './compile-expression.ts';
import { keyOf, order } from './compare.ts';
import type { Fail } from './operators.ts';
import {
  Scope,
  type Evaluate,
  type Place,
  type Row,
  type Run,
  type Source,
  type Test,
  type VariableKind,
} from './scope.ts';
import type { Value } from './values.ts';
import { childrenOf, hasAggregate, isAggregate, replaced, textOf } from './walk-tree.ts';

/** Rows in, rows out. */
export type Pipe = (rows: Iterable<Row>, run: Run) => Iterable<Row>;

export interface CompiledProjection {
  readonly columns: readonly string[];
  readonly scope: Scope;
  readonly pipe: Pipe;
}

/** WITH and RETURN: columns, groups, DISTINCT, ORDER BY, SKIP, LIMIT, and the WHERE behind a WITH, which may look at what the WITH was made of. */
export function compileProjection(
  projection: Projection,
  source: Source,
  before: Scope,
  where?: Expression,
): CompiledProjection {
  const items = allItems(projection, source, before);
  const columns = items.map(({ name }) => name);
  const scope = items.reduce(
    (known, { name, expression }) => known.with(name, kindOf(expression, before)),
    new Scope(),
  );
  const isGrouped = items.some(({ expression }) => hasAggregate(expression));
  const project = isGrouped
    ? compileGroups(items, source, before)
    : compileItems(items, source, before);
  const isClosed = isGrouped || projection.isDistinct;
  const behind = compileBehind(items, { source, before, isClosed });
  const sort = compileSort(projection.orderBy, behind);
  const test = where === undefined ? undefined : compileCondition(where, behind);
  const { cut, mostOf } = compileCut(projection, source);
  const { isDistinct } = projection;
  return {
    columns,
    scope,
    *pipe(rows, run) {
      const made = project(rows, run);
      const told = isDistinct ? distinctRows(made, run) : made;
      for (const one of cut(sort(told, run, mostOf(run)), run))
        if (test === undefined || test(behind.rowOf(one), run)) yield one.columns;
    },
  };
}

const plainKinds: ReadonlySet<Expression['kind']> = new Set([
  'boolean',
  'integer',
  'float',
  'string',
  'list',
  'map',
]);

/** What a column is bound to: that of its variable, or a value that stands there. */
function kindOf(expression: Expression, before: Scope): VariableKind | undefined {
  if (expression.kind === 'variable') return before.kindOf(expression.name);
  return plainKinds.has(expression.kind) ? 'value' : undefined;
}

/** A row of columns, and the row that it was made of, which ORDER BY may look at. */
interface Made {
  readonly columns: Row;
  readonly from: Row;
}

type Project = (rows: Iterable<Row>, run: Run) => Iterable<Made>;

function allItems(
  projection: Projection,
  source: Source,
  before: Scope,
): readonly ProjectionItem[] {
  if (!projection.hasAll) return projection.items;
  const { at } = projection;
  if (before.names.length === 0 && projection.items.length === 0)
    throw source.fault(at, '* stands for the variables that are known, and there are none');
  const all = before.names.toSorted().map((name): ProjectionItem => ({
    at,
    expression: { kind: 'variable', at, name },
    name,
    hasAlias: false,
  }));
  return [...all, ...projection.items];
}

function compileItems(items: readonly ProjectionItem[], source: Source, scope: Scope): Project {
  const values = items.map(({ expression }) => compileExpression(expression, { source, scope }));
  return function* project(rows, run) {
    for (const row of rows) {
      run.budget.tick();
      yield { columns: values.map((value) => value(row, run)), from: row };
    }
  };
}

interface Aggregate {
  readonly name: string;
  readonly isDistinct: boolean;
  /** Undefined for `count(*)`. */
  readonly value: Evaluate | undefined;
  readonly percentile: Evaluate | undefined;
  readonly fail: Fail;
}

interface Group {
  readonly row: Row;
  readonly accumulators: readonly Accumulator[];
}

/** Items without an aggregate make the groups; the others are put together within each. */
function compileGroups(items: readonly ProjectionItem[], source: Source, scope: Scope): Project {
  const keys = items.filter(({ expression }) => !hasAggregate(expression));
  const grouping = new Set(keys.map(({ expression }) => textOf(expression)));
  for (const { expression } of items)
    if (hasAggregate(expression)) checkGrouped(expression, grouping, source);
  const aggregates: Aggregate[] = [];
  const takeAggregate = (expression: Expression): number => {
    aggregates.push(aggregateOf(expression, { source, scope }));
    return scope.size + aggregates.length - 1;
  };
  const values = items.map(({ expression }) =>
    compileExpression(expression, { source, scope, takeAggregate }),
  );
  const keyValues = keys.map(({ expression }) => compileExpression(expression, { source, scope }));
  return function* group(rows, run) {
    const groups = new Map<string, Group>();
    // Without keys there is one group, of no rows too.
    if (keys.length === 0) groups.set('', newGroup([], aggregates, run));
    for (const row of rows) {
      run.budget.tick();
      const key = keyValues.map((value) => keyOf(value(row, run))).join();
      let found = groups.get(key);
      if (found === undefined || (keys.length === 0 && found.row.length === 0)) {
        run.budget.hold();
        found = newGroup(row, aggregates, run);
        groups.set(key, found);
      }
      addTo(found, aggregates, row, run);
    }
    for (const { row, accumulators } of groups.values()) {
      const results = accumulators.map((one) => one.result());
      const full = [...row, ...nulls(scope.size - row.length), ...results];
      yield { columns: values.map((value) => value(full, run)), from: full };
    }
  };
}

function nulls(count: number): readonly null[] {
  return Array.from({ length: count }, () => null);
}

function newGroup(row: Row, aggregates: readonly Aggregate[], run: Run): Group {
  const accumulators = aggregates.map(({ name, isDistinct, percentile, fail }) => {
    const share = percentile?.(row, run);
    const number = typeof share === 'bigint' ? Number(share) : share;
    if (number !== undefined && !(typeof number === 'number' && number >= 0 && number <= 1))
      return fail('a percentile is a number from 0 to 1');
    const one = accumulatorOf(name, number);
    return isDistinct ? distinct(one) : one;
  });
  return { row, accumulators };
}

function addTo(group: Group, aggregates: readonly Aggregate[], row: Row, run: Run): void {
  for (const [at, { value, name, fail }] of aggregates.entries()) {
    const given = value === undefined ? true : value(row, run);
    if (given === null) continue;
    if (name === 'collect') run.budget.hold();
    group.accumulators[at]?.add(given, fail);
  }
}

function aggregateOf(expression: Expression, place: Place): Aggregate {
  const fail = failAt(expression, place);
  if (expression.kind !== 'call')
    return { name: 'count', isDistinct: false, value: undefined, percentile: undefined, fail };
  const { name, isDistinct, arguments: given } = expression;
  const wanted = name.startsWith('percentile') ? 2 : 1;
  if (given.length !== wanted) return fail(`${name}() takes ${wanted} arguments`);
  const [value, percentile] = given.map((one) => compileExpression(one, place));
  return { name, isDistinct, value, percentile, fail };
}

/** Beside an aggregate only what groups, and constants, has one value per group. */
function checkGrouped(
  expression: Expression,
  grouping: ReadonlySet<string>,
  source: Source,
  bound: readonly string[] = [],
): void {
  if (isAggregate(expression) || grouping.has(textOf(expression))) return;
  if (expression.kind === 'variable' && !bound.includes(expression.name))
    throw source.fault(
      expression.at,
      `${expression.name} stands beside an aggregate and makes no group: give it a column of its own`,
    );
  const inside = [...bound, ...boundIn(expression)];
  for (const child of childrenOf(expression)) checkGrouped(child, grouping, source, inside);
}

/** Names that an expression binds for its parts. */
function boundIn(expression: Expression): readonly string[] {
  if (expression.kind === 'reduce') return [expression.accumulator, expression.variable];
  return expression.kind === 'list-comprehension' || expression.kind === 'quantifier'
    ? [expression.variable]
    : [];
}

function* distinctRows(rows: Iterable<Made>, run: Run): Iterable<Made> {
  const seen = new Set<string>();
  for (const made of rows) {
    const key = made.columns.map(keyOf).join();
    if (seen.has(key)) continue;
    run.budget.hold();
    seen.add(key);
    yield made;
  }
}

type Reorder = (rows: Iterable<Made>, run: Run) => Iterable<Made>;

/** Where expressions behind a projection are compiled, and the rows that they see. */
interface Behind extends Place {
  told(expression: Expression): Expression;
  rowOf(made: Made): Row;
}

/** What stands in a column may be named by it or be written again; behind groups and DISTINCT there is nothing else. */
function compileBehind(
  items: readonly ProjectionItem[],
  given: { readonly source: Source; readonly before: Scope; readonly isClosed: boolean },
): Behind {
  const { source, before, isClosed } = given;
  const base = isClosed ? new Scope(new Map(), before.size) : before;
  const scope = items.reduce((known, { name }) => known.with(name), base);
  const byText = new Map(items.map(({ expression, name }) => [textOf(expression), name]));
  return {
    source,
    scope,
    told: (expression) =>
      replaced(expression, (part) => {
        const name = byText.get(textOf(part));
        return name === undefined ? undefined : { kind: 'variable', at: part.at, name };
      }),
    rowOf: ({ from, columns }) =>
      from.length === before.size
        ? from.concat(columns)
        : [...from.slice(0, before.size), ...nulls(before.size - from.length), ...columns],
  };
}

function compileCondition(where: Expression, behind: Behind): Test {
  return conditionOf(behind.told(where), behind);
}

/** The sorted rows; of those beyond the `most` first that are wanted, none need be held. */
type Sort = (rows: Iterable<Made>, run: Run, most: number) => Iterable<Made>;

/** Rows that are held beside the wanted ones before they are cut. */
const spareRows = 1_000;

interface Sortable {
  readonly made: Made;
  readonly keys: readonly Value[];
}

function compileSort(orderBy: readonly SortItem[], behind: Behind): Sort {
  if (orderBy.length === 0) return (rows) => rows;
  const keys = orderBy.map(({ expression, isDescending }) => ({
    value: compileExpression(behind.told(expression), behind),
    sign: isDescending ? -1 : 1,
  }));
  const compare = (a: Sortable, b: Sortable): number => {
    for (const [at, { sign }] of keys.entries()) {
      const one = order(a.keys[at] ?? null, b.keys[at] ?? null) * sign;
      if (one !== 0) return one;
    }
    return 0;
  };
  return (rows, run, most) => {
    const sorted: Sortable[] = [];
    let held = 0;
    let last: Sortable | undefined;
    for (const made of rows) {
      const full = behind.rowOf(made);
      const one = { made, keys: keys.map(({ value }) => value(full, run)) };
      if (last !== undefined && compare(one, last) >= 0) continue;
      sorted.push(one);
      if (sorted.length > held) {
        run.budget.hold();
        held += 1;
      }
      // Sorting keeps the order of equal rows, so what is cut off could not have come first.
      if (sorted.length <= 2 * most + spareRows) continue;
      sorted.sort(compare).splice(most);
      last = sorted.at(-1);
    }
    return sorted.sort(compare).map(({ made }) => made);
  };
}

interface Cut {
  readonly cut: Reorder;
  /** Rows up to the last that is answered. */
  mostOf(run: Run): number;
}

function compileCut({ skip, limit }: Projection, source: Source): Cut {
  const [from, most] = [skip, limit].map((bound) =>
    bound === undefined ? undefined : compileCount(bound, source),
  );
  const mostOf = (run: Run): number =>
    (from?.(run) ?? 0) + (most?.(run) ?? Number.POSITIVE_INFINITY);
  if (from === undefined && most === undefined) return { cut: (rows) => rows, mostOf };
  function* cut(rows: Iterable<Made>, run: Run): Iterable<Made> {
    const skipped = from?.(run) ?? 0;
    const last = mostOf(run);
    if (last === skipped) return;
    let at = 0;
    for (const row of rows) {
      at += 1;
      if (at > skipped) yield row;
      if (at >= last) return;
    }
  }
  return { cut, mostOf };
}

/** SKIP and LIMIT are constants or parameters. */
function compileCount(expression: Expression, source: Source): (run: Run) => number {
  const place = { source, scope: new Scope() };
  const value = compileExpression(expression, place);
  const fail = failAt(expression, place);
  return (run) => {
    const count = value([], run);
    if (typeof count === 'bigint' && count >= 0n) return Number(count);
    return fail('SKIP and LIMIT take an integer of 0 or more');
  };
}
