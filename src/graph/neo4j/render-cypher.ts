import type {
  Clause,
  LabelExpression,
  NodePattern,
  PathPattern,
  Projection,
  Query,
  RelationshipPattern,
  SingleQuery,
} from '../cypher/ast.ts';
import { cypherUnsupported } from '../cypher/errors.ts';
import { ExpressionRenderer } from './render-expression.ts';
import { nodeLabel } from './stored-form.ts';

/** A query for the server: made anew of its tree, so that no word of the caller's text gets there which was not understood. */
export interface RenderedQuery {
  readonly text: string;
  /** Texts that stood in the query: they travel as parameters, beside those of the caller. */
  readonly literals: Readonly<Record<string, string>>;
  /** Of each column the name under which the server answers it. */
  readonly columns: readonly string[];
}

/** Prefix of the caller's parameters, so that they are no others'. */
export const parameterPrefix = 'u_';
/** The workspaces of the caller; used where a query is scoped. */
export const workspacesParameter = 'm_workspaces';

/**
 * Scoped: each pattern holds a condition on the workspace of its first node that is not bound before. That is enough, since no edge leads from one
 * workspace to another.
 */
export function renderCypher(
  query: Query,
  options: {
    readonly source: string;
    readonly columns: readonly string[];
    readonly isScoped: boolean;
  },
): RenderedQuery {
  const renderer = new QueryRenderer(options.source, options.isScoped);
  const text = renderer.query(query, []);
  return {
    text,
    literals: renderer.literals,
    columns: options.columns.map((name) => renderer.column(name)),
  };
}

type Names = readonly string[];

/** Variables that we add are told from those of the caller by their begin. */
const ownPrefix = '  ';

class QueryRenderer {
  readonly literals: Record<string, string> = {};
  readonly #source: string;
  readonly #isScoped: boolean;
  readonly #expressions: ExpressionRenderer;
  readonly #columnNames = new Map<string, string>();
  #variables = 0;

  constructor(source: string, isScoped: boolean) {
    this.#source = source;
    this.#isScoped = isScoped;
    this.#expressions = new ExpressionRenderer({
      quote: (name, at) => this.#quote(name, at),
      literal: (text) => this.#literal(text),
      fresh: () => this.#fresh(),
      query: (query, names) => this.query(query, names),
      pattern: (pattern, names) => this.#patternWhere(pattern, names),
      search: (pattern, names) => this.#search(pattern, names),
    });
  }

  /** What a column is called: its alias, or what was written; the latter may hold what no name may. */
  column(name: string): string {
    if (isPlainName(name)) return name;
    const known = this.#columnNames.get(name) ?? `${ownPrefix}c${this.#columnNames.size}`;
    this.#columnNames.set(name, known);
    return known;
  }

  query({ parts, union }: Query, names: Names): string {
    const between = union === 'all' ? '\nUNION ALL\n' : '\nUNION\n';
    return parts.map((part) => this.#single(part, names)).join(between);
  }

  #single({ clauses }: SingleQuery, outer: Names): string {
    let names = outer;
    const lines: string[] = [];
    for (const clause of clauses) {
      lines.push(this.#clause(clause, names));
      names = namesAfter(clause, names);
    }
    return lines.join('\n');
  }

  #clause(clause: Clause, names: Names): string {
    switch (clause.kind) {
      case 'match':
        return this.#match(clause, names);
      case 'unwind':
        return `UNWIND ${this.#expression(clause.list, names)} AS ${this.#quote(clause.variable, clause.at)}`;
      case 'with': {
        const after = namesAfter(clause, names);
        const where =
          clause.where === undefined ? '' : ` WHERE ${this.#expression(clause.where, after)}`;
        return `WITH ${this.#projection(clause.projection, names)}${where}`;
      }
      case 'return':
        return `RETURN ${this.#projection(clause.projection, names)}`;
      case 'call': {
        const imports = clause.imports === 'all' ? names : clause.imports;
        const given = imports.map((name) => this.#quote(name, clause.at)).join(', ');
        return `CALL (${given}) {\n${this.query(clause.query, imports)}\n}`;
      }
    }
  }

  #match(clause: Extract<Clause, { readonly kind: 'match' }>, names: Names): string {
    const conditions: string[] = [];
    const known = new Set(names);
    const inside = namesAfter(clause, names);
    const patterns = clause.patterns.map((pattern) => {
      const text = this.#namedPath(pattern, { conditions, known, names: inside });
      for (const name of patternNames(pattern)) known.add(name);
      return text;
    });
    if (clause.where !== undefined) conditions.push(this.#expression(clause.where, inside));
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `${clause.isOptional ? 'OPTIONAL ' : ''}MATCH ${patterns.join(', ')}${where}`;
  }

  #patternWhere(pattern: PathPattern, names: Names): string {
    const conditions: string[] = [];
    const path = this.#path(pattern, { conditions, known: new Set(names), names });
    return conditions.length === 0 ? path : `${path} WHERE ${conditions.join(' AND ')}`;
  }

  #search(pattern: PathPattern, names: Names): string {
    const conditions: string[] = [];
    const path = this.#path(pattern, { conditions, known: new Set(names), names });
    if (conditions.length === 0) return path;
    throw cypherUnsupported(
      this.#source,
      pattern.at,
      'a shortest path between nodes that are not bound',
      'say MATCH p = shortestPath(…)',
    );
  }

  #namedPath(pattern: PathPattern, context: PatternContext): string {
    const path = this.#path(pattern, context);
    const name =
      pattern.variable === undefined ? '' : `${this.#quote(pattern.variable, pattern.at)} = `;
    return `${name}${path}`;
  }

  #path(pattern: PathPattern, context: PatternContext): string {
    const scoped = this.#scopedNode(pattern, context);
    let text = '';
    for (const [at, node] of pattern.nodes.entries()) {
      text += this.#node(node, context, scoped === node);
      const relationship = pattern.relationships[at];
      if (relationship !== undefined) text += this.#relationship(relationship, context);
    }
    if (pattern.search === 'all') return text;
    return `${pattern.search === 'shortest' ? 'shortestPath' : 'allShortestPaths'}(${text})`;
  }

  /** Undefined where the pattern hangs on a node that is bound: whoever bound it has looked at its workspace. */
  #scopedNode(pattern: PathPattern, { known }: PatternContext): NodePattern | undefined {
    if (!this.#isScoped) return undefined;
    const isBound = pattern.nodes.some(
      ({ variable }) => variable !== undefined && known.has(variable),
    );
    return isBound ? undefined : pattern.nodes[0];
  }

  /** Conditions stand behind WHERE, since a node inside of shortestPath may hold none. */
  #node(node: NodePattern, context: PatternContext, isScoped: boolean): string {
    const needsName = isScoped || node.where !== undefined;
    const name = node.variable ?? (needsName ? this.#fresh() : undefined);
    const shown = name === undefined ? '' : this.#quote(name, node.at);
    if (isScoped) context.conditions.push(`${shown}.workspace IN $${workspacesParameter}`);
    const { names } = context;
    if (node.where !== undefined) context.conditions.push(this.#expression(node.where, names));
    const labels = node.labels === undefined ? '' : `&${this.#labels(node.labels, node.at)}`;
    const properties =
      node.properties === undefined ? '' : ` ${this.#expression(node.properties, names)}`;
    return `(${shown}:${nodeLabel}${labels}${properties})`;
  }

  #relationship(relationship: RelationshipPattern, context: PatternContext): string {
    const { variable, types, direction, length, properties, where, at } = relationship;
    const { names } = context;
    const shown = variable === undefined ? '' : this.#quote(variable, at);
    const kind = types === undefined ? '' : `:${this.#labels(types, at)}`;
    const steps = length === undefined ? '' : `*${length.min}..${length.max}`;
    const held = properties === undefined ? '' : ` ${this.#expression(properties, names)}`;
    if (where !== undefined) {
      if (length !== undefined)
        throw cypherUnsupported(
          this.#source,
          at,
          'WHERE inside of a path of several relationships',
          'say all(r IN relationships(p) WHERE …)',
        );
      context.conditions.push(this.#expression(where, names));
    }
    const inside = `[${shown}${kind}${steps}${held}]`;
    return `${direction === 'in' ? '<-' : '-'}${inside}${direction === 'out' ? '->' : '-'}`;
  }

  #labels(labels: LabelExpression, at: number): string {
    switch (labels.kind) {
      case 'name':
        // The label of all nodes is no label to those who ask.
        return this.#quote(labels.name === nodeLabel ? `${nodeLabel} ` : labels.name, at);
      case 'any':
        return '%';
      case 'not':
        return `!${this.#labels(labels.of, at)}`;
      case 'and':
      case 'or': {
        const sign = labels.kind === 'and' ? '&' : '|';
        return `(${this.#labels(labels.left, at)}${sign}${this.#labels(labels.right, at)})`;
      }
    }
  }

  #projection(projection: Projection, names: Names): string {
    const all = projection.hasAll ? names.toSorted().map((name) => this.#quote(name, 0)) : [];
    const items = projection.items.map(({ expression, name, at }) => {
      const value = this.#expression(expression, names);
      return `${value} AS ${this.#quote(this.column(name), at)}`;
    });
    const named = projection.items.map(({ name }) => name);
    const after = projection.hasAll ? [...names, ...named] : named;
    const order = projection.orderBy.map(
      ({ expression, isDescending }) =>
        `${this.#expression(expression, after)}${isDescending ? ' DESC' : ''}`,
    );
    return [
      `${projection.isDistinct ? 'DISTINCT ' : ''}${[...all, ...items].join(', ')}`,
      order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`,
      projection.skip === undefined ? '' : ` SKIP ${this.#expression(projection.skip, [])}`,
      projection.limit === undefined ? '' : ` LIMIT ${this.#expression(projection.limit, [])}`,
    ].join('');
  }

  #expression(expression: Parameters<ExpressionRenderer['render']>[0], names: Names): string {
    return this.#expressions.render(expression, names);
  }

  /** A server reads escapes in the whole of a text before it reads its words, so a name with a backslash could end itself. */
  #quote(name: string, at: number): string {
    if (name.includes('\\') || name.includes('\u0000'))
      throw cypherUnsupported(this.#source, at, 'a name with a backslash', 'use another name');
    return `\`${name.replaceAll('`', '``')}\``;
  }

  #literal(text: string): string {
    const name = `m_${Object.keys(this.literals).length}`;
    this.literals[name] = text;
    return `$${name}`;
  }

  #fresh(): string {
    this.#variables += 1;
    return `${ownPrefix}v${this.#variables}`;
  }
}

interface PatternContext {
  /** Takes what must hold beside the pattern. */
  readonly conditions: string[];
  /**
   * Variables bound before. One too few does no harm: its workspace is looked at once more. One too many would be a way out, so it holds only
   * what is certain.
   */
  readonly known: ReadonlySet<string>;
  readonly names: Names;
}

function isPlainName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name);
}

function patternNames(pattern: PathPattern): readonly string[] {
  return [pattern, ...pattern.nodes, ...pattern.relationships].flatMap(
    ({ variable }) => variable ?? [],
  );
}

function namesAfter(clause: Clause, names: Names): Names {
  const more = addedNames(clause);
  if (clause.kind === 'with' || clause.kind === 'return')
    return clause.projection.hasAll ? [...new Set([...names, ...more])] : more;
  return [...new Set([...names, ...more])];
}

function addedNames(clause: Clause): Names {
  switch (clause.kind) {
    case 'match':
      return clause.patterns.flatMap(patternNames);
    case 'unwind':
      return [clause.variable];
    case 'with':
    case 'return':
      return clause.projection.items.map(({ name }) => name);
    case 'call': {
      const last = clause.query.parts[0]?.clauses.at(-1);
      return last === undefined ? [] : namesAfter(last, []);
    }
  }
}
