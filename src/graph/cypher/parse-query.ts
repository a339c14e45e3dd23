import { nearest } from '#base';
import type {
  CallClause,
  Clause,
  Expression,
  Projection,
  ProjectionItem,
  Query,
  SingleQuery,
  SortItem,
} from './ast.ts';
import { parseExpression, parseMap } from './parse-expression.ts';
import { parsePatterns } from './parse-pattern.ts';
import { TokenReader } from './token-reader.ts';

/** Longest query that is read, in UTF-16 units. */
export const queryLengthMax: number = 64 * 1024;

const writes = 'the graph is written by events alone, so a query only reads';

/** First words of clauses that are refused, and how to say it otherwise. */
const refusedClauses: Readonly<Record<string, string>> = {
  CREATE: writes,
  MERGE: writes,
  SET: writes,
  DELETE: writes,
  DETACH: writes,
  REMOVE: writes,
  INSERT: writes,
  DROP: writes,
  ALTER: writes,
  FOREACH: writes,
  LOAD: 'post files with "millrace post"',
  USE: 'there is one graph; a workspace is chosen by the property n.workspace',
  SHOW: 'see "millrace graph stats"',
  EXPLAIN: 'measure the query itself; it has a time limit',
  PROFILE: 'measure the query itself; it has a time limit',
  FINISH: 'end with RETURN',
};

/** The whole text as one query: CYPHER_INVALID or CYPHER_UNSUPPORTED, with line and column. */
export function parseCypher(text: string): Query {
  const reader = new TokenReader(text, {
    expression: parseExpression,
    map: parseMap,
    query: parseQueryBody,
  });
  if (text.length > queryLengthMax)
    throw reader.invalid(0, `a query has at most ${queryLengthMax} characters`);
  const query = parseQueryBody(reader, { mayEndOpen: false });
  reader.takeSign(';');
  if (reader.peek().kind !== 'end') {
    refuseClause(reader);
    throw clauseExpected(reader);
  }
  return query;
}

/** Single queries with UNION between them. In EXISTS and COUNT the last RETURN may be left out. */
export function parseQueryBody(
  reader: TokenReader,
  options: { readonly mayEndOpen: boolean },
): Query {
  const parts = [parseSingle(reader, options)];
  let union: Query['union'];
  for (let { at } = reader.peek(); reader.takeWord('UNION'); { at } = reader.peek()) {
    const kind = reader.takeWord('ALL') ? 'all' : 'distinct';
    reader.takeWord('DISTINCT');
    if (union !== undefined && union !== kind)
      throw reader.invalid(at, 'UNION and UNION ALL do not mix in one query');
    union = kind;
    parts.push(parseSingle(reader, options));
  }
  return { parts, union };
}

function parseSingle(reader: TokenReader, { mayEndOpen }: { mayEndOpen: boolean }): SingleQuery {
  const { at } = reader.peek();
  const clauses: Clause[] = [];
  for (;;) {
    const clause = parseClause(reader);
    if (clause === undefined) break;
    clauses.push(clause);
    if (clause.kind === 'return') break;
  }
  if (clauses.length === 0) {
    refuseClause(reader);
    throw reader.expected('MATCH, UNWIND, WITH, CALL or RETURN', 'here');
  }
  if (clauses.at(-1)?.kind !== 'return' && !mayEndOpen) {
    refuseClause(reader);
    if (reader.peek().kind !== 'end' && !reader.isSign('}')) throw clauseExpected(reader);
    throw reader.invalid(at, 'a query ends with RETURN');
  }
  return { clauses };
}

function parseClause(reader: TokenReader): Clause | undefined {
  const { at } = reader.peek();
  const isOptional = reader.isWord('OPTIONAL', 'MATCH');
  if (isOptional) reader.take();
  if (reader.takeWord('MATCH')) {
    const patterns = parsePatterns(reader);
    if (reader.isWord('USING'))
      throw reader.unsupported(reader.peek().at, 'an index hint', 'leave it out');
    const where = parseWhere(reader);
    return { kind: 'match', at, isOptional, patterns, where };
  }
  if (reader.takeWord('UNWIND')) {
    const list = parseExpression(reader);
    reader.needWord('AS', 'behind the list of UNWIND');
    return { kind: 'unwind', at, list, variable: reader.needName('a name') };
  }
  if (reader.takeWord('WITH')) {
    const projection = parseProjection(reader, at, { areAliasesNeeded: true });
    return { kind: 'with', at, projection, where: parseWhere(reader) };
  }
  if (reader.takeWord('RETURN'))
    return {
      kind: 'return',
      at,
      projection: parseProjection(reader, at, { areAliasesNeeded: false }),
    };
  if (reader.isWord('OPTIONAL', 'CALL'))
    throw reader.unsupported(at, 'OPTIONAL CALL', 'say CALL { OPTIONAL MATCH … }');
  if (reader.takeWord('CALL')) return parseSubqueryCall(reader, at);
  return undefined;
}

function parseWhere(reader: TokenReader): Expression | undefined {
  return reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
}

/** `CALL { WITH a, b … }`, `CALL (a, b) { … }`, `CALL (*) { … }`. */
function parseSubqueryCall(reader: TokenReader, at: number): CallClause {
  const imports = reader.takeSign('(') ? parseImports(reader) : undefined;
  if (!reader.takeSign('{'))
    throw reader.unsupported(at, 'a procedure', 'only CALL { … } is read; use functions instead');
  const query = reader.deeper(() => parseQueryBody(reader, { mayEndOpen: false }));
  reader.needSign('}', 'at the end of CALL');
  if (reader.isWord('IN', 'TRANSACTIONS'))
    throw reader.unsupported(at, 'CALL { … } IN TRANSACTIONS', writes);
  return imports === undefined
    ? { kind: 'call', at, ...importing(query) }
    : { kind: 'call', at, imports, query };
}

/** The names behind `CALL (`. */
function parseImports(reader: TokenReader): readonly string[] | 'all' {
  const isAll = reader.takeSign('*');
  const names: string[] = [];
  if (!isAll && !reader.isSign(')')) {
    do names.push(reader.needName('a name'));
    while (reader.takeSign(','));
  }
  reader.needSign(')', 'behind the names of CALL');
  return isAll ? 'all' : names;
}

/** The older form imports by a first WITH of plain variables, which is then no clause of its own. */
function importing(query: Query): Pick<CallClause, 'imports' | 'query'> {
  const names = new Set<string>();
  const parts = query.parts.map((part): SingleQuery => {
    const [first, ...rest] = part.clauses;
    const isImport =
      first?.kind === 'with' &&
      first.where === undefined &&
      !first.projection.isDistinct &&
      !first.projection.hasAll &&
      first.projection.items.every(({ expression, hasAlias }) => {
        return expression.kind === 'variable' && !hasAlias;
      });
    if (!isImport) return part;
    for (const { name } of first.projection.items) names.add(name);
    return { clauses: rest };
  });
  return { imports: [...names], query: { ...query, parts } };
}

function parseProjection(
  reader: TokenReader,
  at: number,
  { areAliasesNeeded }: { areAliasesNeeded: boolean },
): Projection {
  const isDistinct = reader.takeWord('DISTINCT');
  const hasAll = reader.takeSign('*');
  const items: ProjectionItem[] = [];
  if (!hasAll || reader.takeSign(',')) {
    do items.push(parseItem(reader, areAliasesNeeded));
    while (reader.takeSign(','));
  }
  refuseTwice(reader, items);
  const orderBy: SortItem[] = [];
  if (reader.takeWord('ORDER', 'BY')) {
    do orderBy.push(parseSortItem(reader));
    while (reader.takeSign(','));
  }
  const isSkipped = reader.takeWord('SKIP') || reader.takeWord('OFFSET');
  const skip = isSkipped ? parseExpression(reader) : undefined;
  const limit = reader.takeWord('LIMIT') ? parseExpression(reader) : undefined;
  return { at, isDistinct, hasAll, items, orderBy, skip, limit };
}

function parseItem(reader: TokenReader, isAliasNeeded: boolean): ProjectionItem {
  const { at } = reader.peek();
  const mark = reader.mark;
  const expression = parseExpression(reader);
  const last = reader.mark;
  if (reader.takeWord('AS'))
    return { at, expression, name: reader.needName('a name'), hasAlias: true };
  if (expression.kind === 'variable')
    return { at, expression, name: expression.name, hasAlias: false };
  if (isAliasNeeded) throw reader.invalid(at, 'in WITH an expression needs a name: … AS name');
  return { at, expression, name: reader.writtenBetween(mark, last), hasAlias: false };
}

function refuseTwice(reader: TokenReader, items: readonly ProjectionItem[]): void {
  const names = new Set<string>();
  for (const { name, at } of items) {
    if (names.has(name)) throw reader.invalid(at, `two columns are named ${name}`);
    names.add(name);
  }
}

function parseSortItem(reader: TokenReader): SortItem {
  const expression = parseExpression(reader);
  const isDescending = reader.takeWord('DESC') || reader.takeWord('DESCENDING');
  if (!isDescending && !reader.takeWord('ASC')) reader.takeWord('ASCENDING');
  return { expression, isDescending };
}

function refuseClause(reader: TokenReader): void {
  const { kind, text, at } = reader.peek();
  const word = kind === 'word' ? text.toUpperCase() : '';
  const instead = Object.hasOwn(refusedClauses, word) ? refusedClauses[word] : undefined;
  if (instead !== undefined) throw reader.unsupported(at, word, instead);
}

const clauseWords: readonly string[] = [
  'MATCH',
  'OPTIONAL',
  'WHERE',
  'WITH',
  'UNWIND',
  'CALL',
  'RETURN',
  'ORDER',
  'SKIP',
  'LIMIT',
  'UNION',
];

function clauseExpected(reader: TokenReader): Error {
  const { kind, text } = reader.peek();
  const near = kind === 'word' ? nearest(text, clauseWords) : undefined;
  return reader.expected(near === undefined ? 'a clause' : `a clause (${near}?)`, 'here');
}
