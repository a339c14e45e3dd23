import type {
  CaseBranch,
  Expression,
  MapProjectionItem,
  PathPattern,
  Query,
} from '../cypher/ast.ts';
import { hiddenProperty, nodeLabel } from './stored-form.ts';

type Names = readonly string[];
type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;

/** What an expression needs of the query that it stands in. */
export interface RenderTools {
  /** A name between backticks. */
  quote(name: string, at: number): string;
  /** A text, as a parameter. */
  literal(text: string): string;
  /** A variable that nobody else has. */
  fresh(): string;
  query(query: Query, names: Names): string;
  /** The pattern, and what must hold beside it. */
  pattern(pattern: PathPattern, names: Names): string;
  /** A shortest path between nodes that are bound. */
  search(pattern: PathPattern, names: Names): string;
}

/** Each operator stands in brackets of its own: what binds how strongly was decided when the text was read. */
export class ExpressionRenderer {
  readonly #tools: RenderTools;

  constructor(tools: RenderTools) {
    this.#tools = tools;
  }

  render(expression: Expression, names: Names): string {
    const inner = (part: Expression): string => this.render(part, names);
    switch (expression.kind) {
      case 'null':
        return 'null';
      case 'boolean':
      case 'integer':
        return String(expression.value);
      case 'float':
        return floatText(expression.value);
      case 'string':
        return this.#tools.literal(expression.value);
      case 'parameter':
        return `$${this.#tools.quote(`u_${expression.name}`, expression.at)}`;
      case 'variable':
        return this.#tools.quote(expression.name, expression.at);
      case 'list':
        return `[${expression.items.map(inner).join(', ')}]`;
      case 'map':
        return this.#map(expression, inner);
      case 'property':
        return `${inner(expression.of)}.${this.#property(expression.name, expression.at)}`;
      case 'index':
        return `${inner(expression.of)}[${inner(expression.index)}]`;
      case 'slice': {
        const [from, to] = [expression.from, expression.to].map((part) =>
          part === undefined ? '' : inner(part),
        );
        return `${inner(expression.of)}[${from}..${to}]`;
      }
      case 'has-labels':
        return this.#hasLabels(expression, inner);
      case 'not':
        return `(NOT ${inner(expression.of)})`;
      case 'negate':
        return `(-${inner(expression.of)})`;
      case 'plus':
        return `(+${inner(expression.of)})`;
      case 'is-null':
        return `(${inner(expression.of)} IS ${expression.isNegated ? 'NOT ' : ''}NULL)`;
      case 'binary':
        return `(${inner(expression.left)} ${expression.operator.toUpperCase()} ${inner(expression.right)})`;
      case 'call':
        return this.#call(expression, inner);
      case 'count-all':
        return 'count(*)';
      case 'case':
        return caseText(expression, inner);
      default:
        return this.#binding(expression, names);
    }
  }

  /** What binds names of its own, or holds patterns. */
  #binding(
    expression: Exclude<Expression, Of<'null' | 'call' | 'case' | 'binary'>>,
    names: Names,
  ): string {
    const inner = (part: Expression): string => this.render(part, names);
    switch (expression.kind) {
      case 'list-comprehension': {
        const { variable, list, where, map, at } = expression;
        const within = (part: Expression): string => this.render(part, [...names, variable]);
        const test = where === undefined ? '' : ` WHERE ${within(where)}`;
        const made = map === undefined ? '' : ` | ${within(map)}`;
        return `[${this.#tools.quote(variable, at)} IN ${inner(list)}${test}${made}]`;
      }
      case 'quantifier': {
        const { quantifier, variable, list, where, at } = expression;
        const test = this.render(where, [...names, variable]);
        return `${quantifier}(${this.#tools.quote(variable, at)} IN ${inner(list)} WHERE ${test})`;
      }
      case 'reduce': {
        const { accumulator, initial, variable, list, step, at } = expression;
        const [sum, one] = [accumulator, variable].map((name) => this.#tools.quote(name, at));
        const made = this.render(step, [...names, accumulator, variable]);
        return `reduce(${sum} = ${inner(initial)}, ${one} IN ${inner(list)} | ${made})`;
      }
      case 'map-projection': {
        const items = expression.items.map((item) => this.#projected(item, expression.at, inner));
        return `${this.#tools.quote(expression.of, expression.at)}{${items.join(', ')}}`;
      }
      case 'subquery': {
        const { result, query } = expression;
        return `${result.toUpperCase()} { ${this.#tools.query(query, names)} }`;
      }
      case 'pattern':
        return `EXISTS { MATCH ${this.#tools.pattern(expression.pattern, names)} }`;
      case 'shortest-path':
        return this.#tools.search(expression.pattern, names);
      default:
        throw new RangeError(`no form for ${expression.kind}`);
    }
  }

  #map({ entries, at }: Of<'map'>, inner: (part: Expression) => string): string {
    const members = entries.map(
      ({ key, value }) => `${this.#tools.quote(key, at)}: ${inner(value)}`,
    );
    return `{${members.join(', ')}}`;
  }

  #projected(item: MapProjectionItem, at: number, inner: (part: Expression) => string): string {
    switch (item.kind) {
      case 'all':
        return '.*';
      case 'property':
        return `.${this.#property(item.name, at)}`;
      case 'variable':
        return this.#tools.quote(item.name, at);
      case 'entry':
        return `${this.#tools.quote(item.key, at)}: ${inner(item.value)}`;
    }
  }

  /** What is hidden is as if it were not there. */
  #property(name: string, at: number): string {
    return this.#tools.quote(name === hiddenProperty ? `${name} ` : name, at);
  }

  #hasLabels({ of, labels, at }: Of<'has-labels'>, inner: (part: Expression) => string): string {
    const text = (part: Of<'has-labels'>['labels']): string => {
      switch (part.kind) {
        case 'name':
          return this.#tools.quote(part.name === nodeLabel ? `${nodeLabel} ` : part.name, at);
        case 'any':
          return '%';
        case 'not':
          return `!${text(part.of)}`;
        case 'and':
        case 'or':
          return `(${text(part.left)}${part.kind === 'and' ? '&' : '|'}${text(part.right)})`;
      }
    };
    return `(${inner(of)}:${text(labels)})`;
  }

  #call(expression: Of<'call'>, inner: (part: Expression) => string): string {
    const { name, isDistinct } = expression;
    const given = expression.arguments.map(inner);
    const [first = 'null'] = given;
    switch (name) {
      case 'exists':
        return `(${first} IS NOT NULL)`;
      case 'labels':
        return this.#labelsOf(first);
      case 'keys':
        return this.#keysOf(first, expression.arguments[0]);
      case 'avg': {
        // The server's own is a running mean, which is another number in its last digits.
        const of = `${isDistinct ? 'DISTINCT ' : ''}${first}`;
        const sum = `sum(${of})`;
        return `(CASE WHEN count(${of}) = 0 THEN null WHEN ${sum} IS :: DURATION NOT NULL THEN ${sum} / count(${of}) ELSE toFloat(${sum}) / count(${of}) END)`;
      }
      case 'datetime.truncate':
      case 'date.truncate': {
        // The server's own takes no null.
        const at = this.#tools.quote(this.#tools.fresh(), 0);
        const [unit = 'null', time = 'null', ...parts] = given;
        const asked = [unit, at, ...parts].join(', ');
        return `head([${at} IN [${time}] | CASE WHEN ${at} IS NULL THEN null ELSE ${name}(${asked}) END])`;
      }
      case 'datetime':
        return this.#moment(expression.arguments[0], first);
      case 'tostring':
        return timeAware(first, this.#tools.quote(this.#tools.fresh(), 0));
      default:
        return `${name}(${isDistinct ? 'DISTINCT ' : ''}${given.join(', ')})`;
    }
  }

  /** In UTC, as all times of the graph are. What is in UTC as it is written stays as it is, so that the server can look into an index. */
  #moment(argument: Expression | undefined, rendered: string): string {
    if (argument === undefined) return 'datetime()';
    const isUtc =
      argument.kind === 'string'
        ? /Z$|^[^T]*$|T[^Z+[-]*$/.test(argument.value)
        : argument.kind === 'map' &&
          argument.entries.every(({ key }) => key !== 'timezone' && key !== 'datetime');
    if (isUtc) return `datetime(${rendered})`;
    const at = this.#tools.quote(this.#tools.fresh(), 0);
    return `head([${at} IN [datetime(${rendered})] | CASE WHEN ${at} IS NULL THEN null ELSE datetime({datetime: ${at}, timezone: 'Z'}) END])`;
  }

  /** Of a node or an edge sorted; a map that stands in the query keeps its order. */
  #keysOf(of: string, argument: Expression | undefined): string {
    const key = this.#tools.quote(this.#tools.fresh(), 0);
    const isMap = argument?.kind === 'map' || argument?.kind === 'parameter';
    if (isMap) return `[${key} IN keys(${of}) WHERE ${key} <> '${hiddenProperty}']`;
    const list = `COLLECT { UNWIND keys(${of}) AS ${key} WITH ${key} WHERE ${key} <> '${hiddenProperty}' RETURN ${key} ORDER BY ${key} }`;
    return `(CASE WHEN ${of} IS NULL THEN null ELSE ${list} END)`;
  }

  /** Sorted, and without the label that all nodes have. */
  #labelsOf(node: string): string {
    const label = this.#tools.quote(this.#tools.fresh(), 0);
    const list = `COLLECT { UNWIND labels(${node}) AS ${label} WITH ${label} WHERE ${label} <> '${nodeLabel}' RETURN ${label} ORDER BY ${label} }`;
    return `(CASE WHEN ${node} IS NULL THEN null ELSE ${list} END)`;
  }
}

/**
 * A time has nine fraction digits as text, here as everywhere (D26). It stands in a list beside a time, because the server refuses a question
 * about times where it can tell that there is none.
 */
function timeAware(value: string, name: string): string {
  const utc = `datetime({datetime: ${name}, timezone: 'Z'})`;
  const second = `substring(toString(datetime.truncate('second', ${utc}, {nanosecond: 1})), 0, 20)`;
  const fraction = `right('000000000' + toString(${name}.nanosecond), 9)`;
  const text = `CASE WHEN ${name} IS :: ZONED DATETIME NOT NULL THEN ${second} + ${fraction} + 'Z' ELSE toString(${name}) END`;
  return `head([${name} IN [${value}, datetime('1970-01-01T00:00:00Z')][0..1] | ${text}])`;
}

function caseText(
  { subject, branches, otherwise }: Of<'case'>,
  inner: (part: Expression) => string,
): string {
  const of = subject === undefined ? '' : ` ${inner(subject)}`;
  const texts = branches.map(
    ({ when, value }: CaseBranch) => ` WHEN ${inner(when)} THEN ${inner(value)}`,
  );
  const rest = otherwise === undefined ? '' : ` ELSE ${inner(otherwise)}`;
  return `(CASE${of}${texts.join('')}${rest} END)`;
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'infinity' : '(-infinity)';
  const text = String(value).replace('+', '');
  return /[.e]/.test(text) ? text : `${text}.0`;
}
