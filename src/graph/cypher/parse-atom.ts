import type { CaseBranch, Expression, MapProjectionItem } from './ast.ts';
import { checkedSearch, parsePath, parsePatterns, searchAhead } from './parse-pattern.ts';
import type { TokenReader } from './token-reader.ts';
import { hasAggregate } from './walk-tree.ts';

const integerMax = 2n ** 63n - 1n;

/** What stands alone: a value, a variable, a call, or anything in brackets. */
export function parseAtom(reader: TokenReader): Expression {
  return reader.deeper(() => parseLiteral(reader) ?? parseBracketed(reader) ?? parseNamed(reader));
}

function parseLiteral(reader: TokenReader): Expression | undefined {
  const { kind, text, at } = reader.peek();
  if (kind === 'integer') {
    reader.take();
    const value = BigInt(text.toLowerCase());
    if (value > integerMax) throw reader.invalid(at, 'an integer is at most 9223372036854775807');
    return { kind: 'integer', at, value };
  }
  if (kind === 'float') {
    reader.take();
    const value = Number(text);
    if (!Number.isFinite(value)) throw reader.invalid(at, 'this number is too large');
    return { kind: 'float', at, value };
  }
  if (kind === 'string' || kind === 'parameter') {
    reader.take();
    return kind === 'string' ? { kind, at, value: text } : { kind, at, name: text };
  }
  if (reader.isSign('(', 1)) return undefined;
  if (reader.takeWord('NULL')) return { kind: 'null', at };
  if (reader.takeWord('TRUE')) return { kind: 'boolean', at, value: true };
  if (reader.takeWord('FALSE')) return { kind: 'boolean', at, value: false };
  return undefined;
}

function parseBracketed(reader: TokenReader): Expression | undefined {
  if (reader.isSign('(')) {
    const { at } = reader.peek();
    if (isPatternAhead(reader)) return { kind: 'pattern', at, pattern: parsePath(reader) };
    reader.take();
    const inner = reader.withBar(false, () => reader.grammar.expression(reader));
    reader.needSign(')', 'behind an expression');
    return inner;
  }
  if (reader.isSign('[')) return reader.withBar(false, () => parseList(reader));
  if (reader.isSign('{')) return reader.withBar(false, () => reader.grammar.map(reader));
  return undefined;
}

/** Whether a relationship follows the bracket that begins here: one pass, so that nothing is read twice. */
function isPatternAhead(reader: TokenReader, from = 0): boolean {
  let depth = 0;
  let ahead = from;
  do {
    if (reader.peek(ahead).kind === 'end') return false;
    if (['(', '[', '{'].some((sign) => reader.isSign(sign, ahead))) depth += 1;
    if ([')', ']', '}'].some((sign) => reader.isSign(sign, ahead))) depth -= 1;
    ahead += 1;
  } while (depth > 0);
  const isNext = (...signs: readonly string[]): boolean =>
    signs.some((sign) => reader.isSign(sign, ahead + 1));
  if (reader.isSign('-', ahead)) return isNext('[');
  if (reader.isSign('--', ahead)) return isNext('(', '>');
  if (reader.isSign('->', ahead)) return isNext('(');
  return reader.isSign('<-', ahead) && isNext('[', '-', '->');
}

function parseList(reader: TokenReader): Expression {
  const { at } = reader.needSign('[', 'at the begin of a list');
  const isComprehension =
    (reader.peek().kind === 'word' || reader.peek().kind === 'quoted') && isInAt(reader, 1);
  if (isComprehension) return parseComprehension(reader, at);
  const isNamedPath = reader.isSign('=', 1) && reader.isSign('(', 2) && isPatternAhead(reader, 2);
  if (isNamedPath || (reader.isSign('(') && isPatternAhead(reader)))
    return parsePatternComprehension(reader, at);
  const items: Expression[] = [];
  if (!reader.isSign(']')) {
    do items.push(reader.grammar.expression(reader));
    while (reader.takeSign(','));
  }
  reader.needSign(']', 'at the end of a list');
  return { kind: 'list', at, items };
}

/** `[(a)-->(b) WHERE … | b.x]` is `COLLECT { MATCH (a)-->(b) WHERE … RETURN b.x }`. */
function parsePatternComprehension(reader: TokenReader, at: number): Expression {
  const patterns = parsePatterns(reader);
  if (patterns.length > 1) throw reader.expected('one pattern', 'in a pattern comprehension');
  const where = reader.takeWord('WHERE')
    ? reader.withBar(true, () => reader.grammar.expression(reader))
    : undefined;
  reader.needSign('|', 'in a pattern comprehension');
  const expression = reader.grammar.expression(reader);
  if (hasAggregate(expression))
    throw reader.invalid(expression.at, 'no aggregate stands in a pattern comprehension');
  reader.needSign(']', 'at the end of a list');
  const items = [{ at: expression.at, expression, name: 'value', hasAlias: true }];
  const projection = {
    at,
    isDistinct: false,
    hasAll: false,
    items,
    orderBy: [],
    skip: undefined,
    limit: undefined,
  };
  const match = { kind: 'match', at, isOptional: false, patterns, where } as const;
  const clauses = [match, { kind: 'return', at, projection } as const];
  const query = { parts: [{ clauses }], union: undefined };
  return { kind: 'subquery', at, result: 'collect', query };
}

function isInAt(reader: TokenReader, ahead: number): boolean {
  const { kind, text } = reader.peek(ahead);
  return kind === 'word' && text.toUpperCase() === 'IN';
}

function parseComprehension(reader: TokenReader, at: number): Expression {
  const variable = reader.needName('a name');
  reader.needWord('IN', 'behind a name');
  const { list, where } = reader.withBar(true, () => ({
    list: reader.grammar.expression(reader),
    where: reader.takeWord('WHERE') ? reader.grammar.expression(reader) : undefined,
  }));
  const map = reader.takeSign('|') ? reader.grammar.expression(reader) : undefined;
  reader.needSign(']', 'at the end of a list');
  return { kind: 'list-comprehension', at, variable, list, where, map };
}

function parseNamed(reader: TokenReader): Expression {
  const { kind, at } = reader.peek();
  if (kind !== 'word' && kind !== 'quoted') throw reader.expected('a value', 'here');
  const special = kind === 'word' ? parseSpecial(reader, at) : undefined;
  if (special !== undefined) return special;
  const name = reader.needName('a name');
  if (isCallAhead(reader)) return parseCall(reader, at, name);
  if (reader.isSign('{')) return parseMapProjection(reader, at, name);
  return { kind: 'variable', at, name };
}

/** Words of the language that begin a value. */
function parseSpecial(reader: TokenReader, at: number): Expression | undefined {
  if (reader.isWord('CASE') && !reader.isSign('(', 1)) return parseCase(reader, at);
  for (const result of ['exists', 'count', 'collect'] as const) {
    if (!reader.isWord(result.toUpperCase()) || !reader.isSign('{', 1)) continue;
    reader.take();
    return parseSubquery(reader, at, result);
  }
  const search = searchAhead(reader);
  if (search !== undefined) {
    reader.take();
    reader.needSign('(', 'behind shortestPath');
    const pattern = checkedSearch(reader, parsePath(reader), search);
    reader.needSign(')', 'at the end of shortestPath');
    return { kind: 'shortest-path', at, pattern };
  }
  if (!reader.isSign('(', 1)) return undefined;
  if (reader.isWord('COUNT') && reader.isSign('*', 2)) {
    for (let words = 0; words < 3; words += 1) reader.take();
    reader.needSign(')', 'behind count(*');
    return { kind: 'count-all', at };
  }
  if (reader.isWord('REDUCE')) return parseReduce(reader, at);
  return parseQuantifier(reader, at);
}

function parseCase(reader: TokenReader, at: number): Expression {
  reader.take();
  const subject = reader.isWord('WHEN') ? undefined : reader.grammar.expression(reader);
  const branches: CaseBranch[] = [];
  while (reader.takeWord('WHEN')) {
    const when = reader.grammar.expression(reader);
    reader.needWord('THEN', 'behind WHEN');
    branches.push({ when, value: reader.grammar.expression(reader) });
  }
  if (branches.length === 0) throw reader.expected('WHEN', 'in a CASE');
  const otherwise = reader.takeWord('ELSE') ? reader.grammar.expression(reader) : undefined;
  reader.needWord('END', 'at the end of a CASE');
  return { kind: 'case', at, subject, branches, otherwise };
}

/** A whole query, or patterns alone, which mean MATCH. */
function parseSubquery(
  reader: TokenReader,
  at: number,
  result: 'exists' | 'count' | 'collect',
): Expression {
  reader.needSign('{', `behind ${result.toUpperCase()}`);
  const start = reader.peek().at;
  if (reader.isSign('(')) {
    const patterns = parsePatterns(reader);
    const where = reader.takeWord('WHERE') ? reader.grammar.expression(reader) : undefined;
    reader.needSign('}', 'at the end of a subquery');
    const match = { kind: 'match', at: start, isOptional: false, patterns, where } as const;
    return {
      kind: 'subquery',
      at,
      result,
      query: { parts: [{ clauses: [match] }], union: undefined },
    };
  }
  const query = reader.grammar.query(reader, { mayEndOpen: result !== 'collect' });
  reader.needSign('}', 'at the end of a subquery');
  return { kind: 'subquery', at, result, query };
}

const quantifiers = ['all', 'any', 'none', 'single'] as const;

/** `all(x IN list WHERE …)` */
function parseQuantifier(reader: TokenReader, at: number): Expression | undefined {
  const quantifier = quantifiers.find((one) => reader.isWord(one.toUpperCase()));
  if (quantifier === undefined || !isInAt(reader, 3)) return undefined;
  reader.take();
  reader.needSign('(', `behind ${quantifier}`);
  const variable = reader.needName('a name');
  reader.needWord('IN', 'behind a name');
  const list = reader.grammar.expression(reader);
  reader.needWord('WHERE', `in ${quantifier}(…)`);
  const where = reader.grammar.expression(reader);
  reader.needSign(')', `at the end of ${quantifier}`);
  return { kind: 'quantifier', at, quantifier, variable, list, where };
}

/** `reduce(sum = 0, x IN list | sum + x)` */
function parseReduce(reader: TokenReader, at: number): Expression {
  reader.take();
  reader.needSign('(', 'behind reduce');
  const accumulator = reader.needName('a name');
  reader.needSign('=', 'behind the name of a sum');
  const initial = reader.grammar.expression(reader);
  reader.needSign(',', 'in reduce(…)');
  const variable = reader.needName('a name');
  reader.needWord('IN', 'behind a name');
  const list = reader.withBar(true, () => reader.grammar.expression(reader));
  reader.needSign('|', 'in reduce(…)');
  const step = reader.grammar.expression(reader);
  reader.needSign(')', 'at the end of reduce');
  return { kind: 'reduce', at, accumulator, initial, variable, list, step };
}

/** `f(` or `a.b.f(`. */
function isCallAhead(reader: TokenReader): boolean {
  let ahead = 0;
  while (reader.isSign('.', ahead) && reader.peek(ahead + 1).kind === 'word') ahead += 2;
  return reader.isSign('(', ahead);
}

function parseCall(reader: TokenReader, at: number, first: string): Expression {
  let name = first;
  while (reader.takeSign('.')) name += `.${reader.needName('a name')}`;
  reader.needSign('(', 'behind the name of a function');
  const isDistinct = reader.takeWord('DISTINCT');
  const list: Expression[] = [];
  if (!reader.isSign(')')) {
    do list.push(reader.withBar(false, () => reader.grammar.expression(reader)));
    while (reader.takeSign(','));
  }
  reader.needSign(')', `at the end of ${name}`);
  return { kind: 'call', at, name: name.toLowerCase(), isDistinct, arguments: list };
}

/** `n{.*, .name, other, key: value}` */
function parseMapProjection(reader: TokenReader, at: number, of: string): Expression {
  reader.needSign('{', 'in a map projection');
  const items: MapProjectionItem[] = [];
  if (!reader.isSign('}')) {
    do items.push(parseProjected(reader));
    while (reader.takeSign(','));
  }
  reader.needSign('}', 'at the end of a map projection');
  return { kind: 'map-projection', at, of, items };
}

function parseProjected(reader: TokenReader): MapProjectionItem {
  if (reader.takeSign('.')) {
    if (reader.takeSign('*')) return { kind: 'all' };
    return { kind: 'property', name: reader.needName('a property') };
  }
  const key = reader.needName('a key');
  if (!reader.takeSign(':')) return { kind: 'variable', name: key };
  return { kind: 'entry', key, value: reader.grammar.expression(reader) };
}
