import type { CallClause, Clause, Expression, Query, SingleQuery } from './ast.ts';
import { compileExpression } from './compile-expression.ts';
import { compileMatch } from './compile-match.ts';
import { compileProjection, type Pipe } from './compile-projection.ts';
import { keyOf } from './compare.ts';
import { countShortcut } from './count-shortcut.ts';
import { hasAny, type Evaluate, type Place, type Row, type Scope, type Source } from './scope.ts';
import { isList, type Value } from './values.ts';

/** A query as a function of the rows that it begins with: one empty row for a whole query, a row of the outer one for a subquery. */
export interface CompiledQuery {
  /** Undefined where it ends without RETURN, in EXISTS and COUNT. */
  readonly columns: readonly string[] | undefined;
  readonly pipe: Pipe;
}

export function compileQuery(query: Query, source: Source, outer: Scope): CompiledQuery {
  const parts = query.parts.map((part) => compileSingle(part, source, outer));
  const [first, ...others] = parts;
  if (first === undefined) throw new RangeError('a query has a part');
  if (others.length === 0) return first;
  const names = first.columns?.toSorted().join();
  if (others.some(({ columns }) => columns?.toSorted().join() !== names))
    throw source.fault(0, 'all parts of a UNION have the same columns');
  const isDistinct = query.union === 'distinct';
  return { columns: first.columns, pipe: unionOf(parts, first.columns ?? [], isDistinct) };
}

function unionOf(
  parts: readonly CompiledQuery[],
  columns: readonly string[],
  isDistinct: boolean,
): Pipe {
  return function* union(rows, run) {
    const given = [...rows];
    const seen = new Set<string>();
    for (const part of parts) {
      const places = columns.map((name) => part.columns?.indexOf(name) ?? 0);
      for (const row of part.pipe(given, run)) {
        const told = places.map((place) => row[place] ?? null);
        const key = isDistinct ? told.map(keyOf).join() : '';
        if (isDistinct && seen.has(key)) continue;
        if (isDistinct) {
          run.budget.hold();
          seen.add(key);
        }
        yield told;
      }
    }
  };
}

interface Progress {
  readonly scope: Scope;
  readonly pipe: Pipe;
  readonly columns: readonly string[] | undefined;
}

function compileSingle({ clauses }: SingleQuery, source: Source, outer: Scope): CompiledQuery {
  let progress: Progress = { scope: outer, pipe: (rows) => rows, columns: undefined };
  for (const clause of clauses) progress = compileClause(clause, source, progress);
  const shortcut = outer.size === 0 ? countShortcut({ clauses }) : undefined;
  if (shortcut === undefined) return progress;
  const { columns, pipe } = progress;
  return {
    columns,
    *pipe(rows, run) {
      const count = shortcut(run.view);
      if (count === undefined) yield* pipe(rows, run);
      else yield [count];
    },
  };
}

function compileClause(clause: Clause, source: Source, before: Progress): Progress {
  switch (clause.kind) {
    case 'match': {
      const { scope, expand } = compileMatch(clause, source, before.scope);
      return then(before, scope, function* match(rows, run) {
        for (const row of rows) yield* expand(row, run);
      });
    }
    case 'unwind': {
      checkFree(clause, source, before.scope);
      const list = compileExpression(clause.list, { source, scope: before.scope });
      const { size } = before.scope;
      return then(before, before.scope.with(clause.variable), function* unwind(rows, run) {
        for (const row of rows) {
          for (const value of elementsOf(list(row, run))) {
            run.budget.tick();
            yield placed(row, size, value);
            run.budget.fresh();
          }
        }
      });
    }
    case 'with': {
      const { projection, where } = clause;
      const { scope, pipe } = compileProjection(projection, source, before.scope, where);
      return then(before, scope, pipe);
    }
    case 'return': {
      const { scope, pipe, columns } = compileProjection(clause.projection, source, before.scope);
      return { ...then(before, scope, pipe), columns };
    }
    case 'call':
      return compileCallClause(clause, source, before);
  }
}

function then(before: Progress, scope: Scope, pipe: Pipe): Progress {
  return { scope, columns: undefined, pipe: (rows, run) => pipe(before.pipe(rows, run), run) };
}

function checkFree(
  { variable, at }: { readonly variable: string; readonly at: number },
  source: Source,
  scope: Scope,
): void {
  if (scope.slotOf(variable) !== undefined)
    throw source.fault(at, `the variable ${variable} is bound before`);
}

/** UNWIND of null gives no row, of anything else that is no list one. */
function elementsOf(value: Value): readonly Value[] {
  if (value === null) return [];
  return isList(value) ? value : [value];
}

function placed(row: Row, slot: number, value: Value): Row {
  const next = row.slice();
  next[slot] = value;
  return next;
}

/** Once per row; its columns are added to the row. */
function compileCallClause(clause: CallClause, source: Source, before: Progress): Progress {
  const { scope } = before;
  const imports = clause.imports === 'all' ? scope.names : clause.imports;
  for (const name of imports)
    if (scope.slotOf(name) === undefined)
      throw source.fault(clause.at, `the variable ${name} is not known here`);
  const inner = compileQuery(clause.query, source, scope.only(imports));
  const columns = inner.columns ?? [];
  for (const name of columns) checkFree({ variable: name, at: clause.at }, source, scope);
  const after = columns.reduce((known, name) => known.with(name), scope);
  return then(before, after, function* call(rows, run) {
    for (const row of rows) {
      const full = [...row, ...Array.from({ length: scope.size - row.length }, () => null)];
      for (const found of inner.pipe([row], run)) yield [...full, ...found];
    }
  });
}

/** `EXISTS { … }`, `COUNT { … }`, `COLLECT { … }` */
export function compileSubquery(
  expression: Extract<Expression, { readonly kind: 'subquery' }>,
  { source, scope }: Place,
): Evaluate {
  const { result, query, at } = expression;
  const { pipe, columns } = compileQuery(query, source, scope);
  if (result === 'collect' && columns?.length !== 1)
    throw source.fault(at, 'COLLECT { … } returns one column');
  return (row, run) => {
    if (result === 'exists') return hasAny(pipe([row], run));
    if (result === 'count') return countOf(pipe([row], run));
    const list: Value[] = [];
    for (const [value = null] of pipe([row], run)) {
      run.budget.hold();
      list.push(value);
    }
    return list;
  };
}

function countOf(rows: Iterable<Row>): bigint {
  const iterator = rows[Symbol.iterator]();
  let count = 0n;
  while (iterator.next().done !== true) count += 1n;
  return count;
}
