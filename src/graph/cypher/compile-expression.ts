import { nearest } from '#base';
import type { Expression, LabelExpression, MapProjectionItem } from './ast.ts';
import { equals } from './compare.ts';
import { functions, refusedFunctions } from './functions.ts';
import { elementOf, memberOf, negated, operate, sliceOf, truth, type Fail } from './operators.ts';
import type { Evaluate, Place, Row, Run, Source, Test } from './scope.ts';
import { CypherMap, isList, isNode, isRelationship, kindOf, type Value } from './values.ts';
import { aggregateNames, isAggregate } from './walk-tree.ts';

type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;

/** An expression as a function of a row. Names that are not known, and functions, are refused here and not when it runs. */
export function compileExpression(expression: Expression, place: Place): Evaluate {
  const { source } = place;
  if (isAggregate(expression)) {
    if (place.takeAggregate === undefined)
      throw source.fault(expression.at, 'an aggregate stands in WITH or RETURN alone');
    const slot = place.takeAggregate(expression);
    return (row) => row[slot] ?? null;
  }
  switch (expression.kind) {
    case 'binary':
      return compileBinary(expression, place);
    case 'call':
      return compileCall(expression, place);
    case 'case':
      return compileCase(expression, place);
    case 'list-comprehension':
      return compileComprehension(expression, place);
    case 'quantifier':
      return compileQuantifier(expression, place);
    case 'reduce':
      return compileReduce(expression, place);
    case 'map-projection':
      return compileMapProjection(expression, place);
    case 'subquery':
      return source.inner.subquery(expression, place);
    case 'pattern':
      return source.inner.pattern(expression.pattern, place);
    case 'shortest-path':
      return source.inner.shortestPath(expression.pattern, place);
    case 'slice':
      return compileSlice(expression, place);
    case 'negate':
    case 'plus':
      return compileSign(expression, place);
    default:
      return compileSimple(expression, place);
  }
}

/** What stands alone, and what is read of one other value. */
function compileSimple(expression: Expression, place: Place): Evaluate {
  const fail = failAt(expression, place);
  const compile = (part: Expression): Evaluate => compileExpression(part, place);
  switch (expression.kind) {
    case 'boolean':
    case 'integer':
    case 'float':
    case 'string': {
      const { value } = expression;
      return () => value;
    }
    case 'parameter':
      return compileParameter(expression);
    case 'variable':
      return compileVariable(expression.name, expression, place);
    case 'list': {
      const items = expression.items.map(compile);
      return (row, run) =>
        counted(
          items.map((item) => item(row, run)),
          run,
        );
    }
    case 'map': {
      const entries = expression.entries.map(({ key, value }) => [key, compile(value)] as const);
      return (row, run) => new CypherMap(entries.map(([key, value]) => [key, value(row, run)]));
    }
    case 'property': {
      const of = compile(expression.of);
      const { name } = expression;
      return (row, run) => memberOf(of(row, run), name, fail);
    }
    case 'index': {
      const [of, index] = [compile(expression.of), compile(expression.index)];
      return (row, run) => elementOf(of(row, run), index(row, run), fail);
    }
    case 'has-labels': {
      const of = compile(expression.of);
      const matches = compileLabels(expression.labels);
      return (row, run) => labelsMatch(of(row, run), matches, fail);
    }
    case 'not': {
      const of = compile(expression.of);
      return (row, run) => negated(truth(of(row, run), fail));
    }
    case 'is-null': {
      const of = compile(expression.of);
      const { isNegated } = expression;
      return (row, run) => (of(row, run) === null) !== isNegated;
    }
    default:
      return () => null;
  }
}

/** Null counts as false. */
export function compileCondition(expression: Expression, place: Place): Test {
  const evaluate = compileExpression(expression, place);
  const fail = failAt(expression, place);
  return (row, run) => truth(evaluate(row, run), fail) === true;
}

export function failAt(expression: { readonly at: number }, { source }: Place): Fail {
  return (reason) => {
    throw source.fault(expression.at, reason);
  };
}

/** That each is given was looked at before the run. */
function compileParameter({ name }: Of<'parameter'>): Evaluate {
  return (_row, { parameters }) => parameters.get(name) ?? null;
}

function compileVariable(
  name: string,
  { at }: { readonly at: number },
  { source, scope }: Place,
): Evaluate {
  const slot = scope.slotOf(name);
  if (slot === undefined) throw source.fault(at, `the variable ${name} is not known here`);
  return (row) => row[slot] ?? null;
}

function compileSlice(expression: Of<'slice'>, place: Place): Evaluate {
  const [of, from, to] = [expression.of, expression.from, expression.to].map((part) =>
    part === undefined ? undefined : compileExpression(part, place),
  );
  const fail = failAt(expression, place);
  return (row, run) =>
    counted(sliceOf(of?.(row, run) ?? null, from?.(row, run), to?.(row, run), fail), run);
}

function compileSign(expression: Of<'not' | 'negate' | 'plus'>, place: Place): Evaluate {
  const of = compileExpression(expression.of, place);
  const fail = failAt(expression, place);
  const isNegative = expression.kind === 'negate';
  return (row, run) => {
    const value = of(row, run);
    if (typeof value === 'number') return isNegative ? -value : value;
    return operate(isNegative ? '-' : '+', 0n, value, fail);
  };
}

/** AND and OR look at their second half only where it may decide. */
function compileBinary(expression: Of<'binary'>, place: Place): Evaluate {
  const { operator } = expression;
  const left = compileExpression(expression.left, place);
  const right = compileExpression(expression.right, place);
  const fail = failAt(expression, place);
  const decides = operator === 'or' ? true : operator === 'and' ? false : undefined;
  if (decides === undefined)
    return (row, run) => {
      const value = operate(operator, left(row, run), right(row, run), fail);
      return operator === '+' ? counted(value, run) : value;
    };
  return (row, run) => {
    const first = truth(left(row, run), fail);
    return first === decides ? first : operate(operator, first, right(row, run), fail);
  };
}

function unknownFunction(name: string, at: number, source: Source): Error {
  const [family = ''] = name.split('.');
  const instead = Object.hasOwn(refusedFunctions, family) ? refusedFunctions[family] : undefined;
  if (instead !== undefined) return source.unsupported(at, `${name}()`, instead);
  const near = nearest(name, [...Object.keys(functions), ...aggregateNames]);
  const where = near === undefined ? 'docs/cypher.md lists them' : `did you mean ${near}()?`;
  return source.fault(at, `there is no function ${name}(); ${where}`);
}

function compileCall(expression: Of<'call'>, place: Place): Evaluate {
  const { name, at, isDistinct } = expression;
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined) throw unknownFunction(name, at, place.source);
  const { least, most, isStrict, call } = known;
  const count = expression.arguments.length;
  if (count < least || count > most) {
    const wanted = least === most ? String(least) : `${least} to ${most}`;
    throw place.source.fault(at, `${name}() takes ${wanted} arguments, and here are ${count}`);
  }
  if (isDistinct)
    throw place.source.fault(at, `${name}() is no aggregate, so DISTINCT says nothing`);
  const values = expression.arguments.map((part) => compileExpression(part, place));
  const fail = failAt(expression, place);
  return (row, run) => {
    const given = values.map((value) => value(row, run));
    return isStrict && given.includes(null) ? null : counted(call(given, fail, run.now), run);
  };
}

/** What an expression has made counts: a query that makes more than can be held, or without an end, is stopped in the middle of it. */
function counted(value: Value, { budget }: Run): Value {
  if (isList(value)) budget.made(value.length);
  else if (typeof value === 'string') budget.made(value.length >> 3);
  return value;
}

function compileCase(expression: Of<'case'>, place: Place): Evaluate {
  const compile = (part: Expression): Evaluate => compileExpression(part, place);
  const subject = expression.subject === undefined ? undefined : compile(expression.subject);
  const otherwise = expression.otherwise === undefined ? undefined : compile(expression.otherwise);
  const branches = expression.branches.map(({ when, value }) => [compile(when), compile(value)]);
  return (row, run) => {
    const wanted = subject?.(row, run);
    for (const [when, value] of branches) {
      const found = when?.(row, run) ?? null;
      const isMet = wanted === undefined ? found === true : equals(wanted, found) === true;
      if (isMet) return value?.(row, run) ?? null;
    }
    return otherwise?.(row, run) ?? null;
  };
}

/** A list, with room for one element of it in the row. */
function compileEach(
  list: Expression,
  variable: string,
  place: Place,
): { readonly inner: Place; readonly slot: number; readonly list: Evaluate } {
  const scope = place.scope.with(variable);
  return {
    inner: { source: place.source, scope },
    slot: scope.size - 1,
    list: compileExpression(list, place),
  };
}

function withValue(row: Row, slot: number, value: Value): Row {
  const next = row.slice();
  next[slot] = value;
  return next;
}

function elementsOf(list: Value, fail: Fail): readonly Value[] | null {
  if (list === null || isList(list)) return list;
  return fail(`a list is expected, and this is ${kindOf(list)}`);
}

function compileComprehension(expression: Of<'list-comprehension'>, place: Place): Evaluate {
  const { inner, slot, list } = compileEach(expression.list, expression.variable, place);
  const { where, map } = expression;
  const test = where === undefined ? undefined : compileCondition(where, inner);
  const make = map === undefined ? undefined : compileExpression(map, inner);
  const fail = failAt(expression, place);
  return (row, run) => {
    const elements = elementsOf(list(row, run), fail);
    if (elements === null) return null;
    const made: Value[] = [];
    run.budget.enter();
    for (const element of elements) {
      run.budget.made(1);
      const next = withValue(row, slot, element);
      if (test?.(next, run) !== false) made.push(make === undefined ? element : make(next, run));
    }
    run.budget.leave();
    return made;
  };
}

function compileQuantifier(expression: Of<'quantifier'>, place: Place): Evaluate {
  const { inner, slot, list } = compileEach(expression.list, expression.variable, place);
  const where = compileExpression(expression.where, inner);
  const fail = failAt(expression, place);
  const { quantifier } = expression;
  return (row, run) => {
    const elements = elementsOf(list(row, run), fail);
    if (elements === null) return null;
    const counts = { yes: 0, no: 0, unknown: 0 };
    for (const element of elements) {
      run.budget.tick();
      const found = truth(where(withValue(row, slot, element), run), fail);
      counts[found === null ? 'unknown' : found ? 'yes' : 'no'] += 1;
    }
    return quantified(quantifier, counts);
  };
}

function quantified(
  quantifier: Of<'quantifier'>['quantifier'],
  { yes, no, unknown }: { readonly yes: number; readonly no: number; readonly unknown: number },
): boolean | null {
  const isUnknown = unknown > 0;
  switch (quantifier) {
    case 'all':
      return no > 0 ? false : isUnknown ? null : true;
    case 'any':
      return yes > 0 ? true : isUnknown ? null : false;
    case 'none':
      return yes > 0 ? false : isUnknown ? null : true;
    case 'single':
      return yes > 1 ? false : isUnknown ? null : yes === 1;
  }
}

function compileReduce(expression: Of<'reduce'>, place: Place): Evaluate {
  const { source, scope } = place;
  const inner = scope.with(expression.accumulator).with(expression.variable);
  const [sumSlot, slot] = [inner.size - 2, inner.size - 1];
  const initial = compileExpression(expression.initial, place);
  const list = compileExpression(expression.list, place);
  const step = compileExpression(expression.step, { source, scope: inner });
  const fail = failAt(expression, place);
  return (row, run) => {
    const elements = elementsOf(list(row, run), fail);
    if (elements === null) return null;
    let sum = initial(row, run);
    run.budget.enter();
    for (const element of elements) {
      run.budget.tick();
      sum = step(withValue(withValue(row, sumSlot, sum), slot, element), run);
    }
    run.budget.leave();
    return sum;
  };
}

function compileMapProjection(expression: Of<'map-projection'>, place: Place): Evaluate {
  const of = compileVariable(expression.of, expression, place);
  const fail = failAt(expression, place);
  const parts = expression.items.map((item) => compileProjected(item, expression, place));
  return (row, run) => {
    const value = of(row, run);
    if (value === null) return null;
    const map = isNode(value) || isRelationship(value) ? value.properties : value;
    if (!(map instanceof CypherMap))
      return fail(`a map projection is made of a map, node or relationship, not ${kindOf(value)}`);
    return new CypherMap(parts.flatMap((part) => part(map, row, run)));
  };
}

type ProjectedPart = (map: CypherMap, row: Row, run: Run) => readonly (readonly [string, Value])[];

function compileProjected(
  item: MapProjectionItem,
  at: { readonly at: number },
  place: Place,
): ProjectedPart {
  switch (item.kind) {
    case 'all':
      return (map) => [...map.entries];
    case 'property':
      return (map) => [[item.name, map.get(item.name)]];
    case 'variable': {
      const value = compileVariable(item.name, at, place);
      return (_map, row, run) => [[item.name, value(row, run)]];
    }
    case 'entry': {
      const value = compileExpression(item.value, place);
      return (_map, row, run) => [[item.key, value(row, run)]];
    }
  }
}

export type LabelTest = (labels: readonly string[]) => boolean;

export function compileLabels(labels: LabelExpression): LabelTest {
  switch (labels.kind) {
    case 'name':
      return (given) => given.includes(labels.name);
    case 'any':
      return (given) => given.length > 0;
    case 'not': {
      const of = compileLabels(labels.of);
      return (given) => !of(given);
    }
    case 'and':
    case 'or': {
      const [left, right] = [compileLabels(labels.left), compileLabels(labels.right)];
      if (labels.kind === 'and') return (given) => left(given) && right(given);
      return (given) => left(given) || right(given);
    }
  }
}

function labelsMatch(value: Value, matches: LabelTest, fail: Fail): boolean | null {
  if (value === null) return null;
  if (isNode(value)) return matches(value.labels);
  if (isRelationship(value)) return matches([value.type]);
  return fail(`labels are those of a node or relationship, and this is ${kindOf(value)}`);
}
