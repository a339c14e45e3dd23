import type { Expression, PathPattern } from './ast.ts';

/** Functions that put rows together; they stand in WITH and RETURN alone. */
export const aggregateNames: ReadonlySet<string> = new Set([
  'count',
  'sum',
  'avg',
  'min',
  'max',
  'collect',
  'stdev',
  'stdevp',
  'percentilecont',
  'percentiledisc',
]);

export function isAggregate(expression: Expression): boolean {
  return (
    expression.kind === 'count-all' ||
    (expression.kind === 'call' && aggregateNames.has(expression.name))
  );
}

export function hasAggregate(expression: Expression): boolean {
  return isAggregate(expression) || childrenOf(expression).some(hasAggregate);
}

/** Parts of an expression; those of subqueries and patterns are not among them. */
export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'list':
      return expression.items;
    case 'map':
      return expression.entries.map(({ value }) => value);
    case 'property':
    case 'has-labels':
    case 'not':
    case 'negate':
    case 'plus':
    case 'is-null':
      return [expression.of];
    case 'index':
      return [expression.of, expression.index];
    case 'slice':
      return present(expression.of, expression.from, expression.to);
    case 'binary':
      return [expression.left, expression.right];
    case 'call':
      return expression.arguments;
    case 'case':
      return present(
        expression.subject,
        ...expression.branches.flatMap(({ when, value }) => [when, value]),
        expression.otherwise,
      );
    case 'list-comprehension':
      return present(expression.list, expression.where, expression.map);
    case 'quantifier':
      return [expression.list, expression.where];
    case 'reduce':
      return [expression.initial, expression.list, expression.step];
    case 'map-projection':
      return expression.items.flatMap((item) => (item.kind === 'entry' ? [item.value] : []));
    default:
      return [];
  }
}

/** Names that an expression may read, those that it binds itself included: enough to know what must be there before it runs. */
export function namesIn(expression: Expression): ReadonlySet<string> {
  const names = new Set<string>();
  collectNames(expression, names);
  return names;
}

function collectNames(expression: Expression, names: Set<string>): void {
  if (expression.kind === 'variable') names.add(expression.name);
  if (expression.kind === 'map-projection') {
    names.add(expression.of);
    for (const item of expression.items) if (item.kind === 'variable') names.add(item.name);
  }
  if (expression.kind === 'pattern' || expression.kind === 'shortest-path')
    collectPatternNames(expression.pattern, names);
  // A subquery may read whatever there is.
  if (expression.kind === 'subquery') names.add(' all');
  for (const child of childrenOf(expression)) collectNames(child, names);
}

function collectPatternNames(pattern: PathPattern, names: Set<string>): void {
  for (const part of [...pattern.nodes, ...pattern.relationships]) {
    if (part.variable !== undefined) names.add(part.variable);
    for (const inner of present(part.properties, part.where)) collectNames(inner, names);
  }
}

/** Every part of one kind, those of subqueries and patterns too, in the order in which they were written. */
export function partsOf<K extends Expression['kind']>(
  tree: unknown,
  kind: K,
): readonly Extract<Expression, { readonly kind: K }>[] {
  if (typeof tree !== 'object' || tree === null) return [];
  const own = 'kind' in tree && tree.kind === kind ? [tree] : [];
  const below = Object.values(tree).flatMap((part) => partsOf(part, kind));
  return [...(own as Extract<Expression, { readonly kind: K }>[]), ...below];
}

/** Two expressions that were written alike have one text. */
export function textOf(expression: Expression): string {
  return JSON.stringify(expression, (key, value: unknown) => {
    if (key === 'at') return undefined;
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}

/** The expression with each part replaced for which `replace` gives another. */
export function replaced(
  expression: Expression,
  replace: (part: Expression) => Expression | undefined,
): Expression {
  const other = replace(expression);
  if (other !== undefined) return other;
  const again = (part: Expression): Expression => replaced(part, replace);
  switch (expression.kind) {
    case 'list':
      return { ...expression, items: expression.items.map(again) };
    case 'property':
    case 'has-labels':
    case 'not':
    case 'negate':
    case 'plus':
    case 'is-null':
      return { ...expression, of: again(expression.of) };
    case 'index':
      return { ...expression, of: again(expression.of), index: again(expression.index) };
    case 'binary':
      return { ...expression, left: again(expression.left), right: again(expression.right) };
    case 'call':
      return { ...expression, arguments: expression.arguments.map(again) };
    case 'case':
      return {
        ...expression,
        subject: expression.subject === undefined ? undefined : again(expression.subject),
        branches: expression.branches.map(({ when, value }) => ({
          when: again(when),
          value: again(value),
        })),
        otherwise: expression.otherwise === undefined ? undefined : again(expression.otherwise),
      };
    default:
      return expression;
  }
}

function present(...parts: readonly (Expression | undefined)[]): readonly Expression[] {
  return parts.filter((part) => part !== undefined);
}
