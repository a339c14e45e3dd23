import type { BinaryOperator, Expression, MapEntry } from './ast.ts';
import { parseAtom } from './parse-atom.ts';
import { parseLabels } from './parse-pattern.ts';
import type { TokenReader } from './token-reader.ts';

/** One expression, by precedence: OR, XOR, AND, NOT, comparisons, text and list tests, sums, products, powers, signs, members. */
export function parseExpression(reader: TokenReader): Expression {
  return reader.deeper(() => parseOr(reader));
}

function parseOr(reader: TokenReader): Expression {
  let left = parseXor(reader);
  for (let { at } = reader.peek(); reader.takeWord('OR'); { at } = reader.peek())
    left = binary('or', at, left, parseXor(reader));
  return left;
}

function parseXor(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  for (let { at } = reader.peek(); reader.takeWord('XOR'); { at } = reader.peek())
    left = binary('xor', at, left, parseAnd(reader));
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  for (let { at } = reader.peek(); reader.takeWord('AND'); { at } = reader.peek())
    left = binary('and', at, left, parseNot(reader));
  return left;
}

function parseNot(reader: TokenReader): Expression {
  const { at } = reader.peek();
  if (!reader.takeWord('NOT')) return parseComparison(reader);
  return { kind: 'not', at, of: reader.deeper(() => parseNot(reader)) };
}

const comparisons = ['=', '<>', '<=', '>=', '<', '>'] as const;

/** `a < b < c` means `a < b AND b < c`. */
function parseComparison(reader: TokenReader): Expression {
  let left = parseTest(reader);
  let all: Expression | undefined;
  for (;;) {
    const { at } = reader.peek();
    const operator = comparisons.find((sign) => reader.takeSign(sign));
    if (operator === undefined) return all ?? left;
    const right = parseTest(reader);
    const one = binary(operator, at, left, right);
    all = all === undefined ? one : binary('and', at, all, one);
    left = right;
  }
}

function parseTest(reader: TokenReader): Expression {
  let left = parseSum(reader);
  for (;;) {
    const next = parseOneTest(reader, left);
    if (next === undefined) return left;
    left = next;
  }
}

function parseOneTest(reader: TokenReader, left: Expression): Expression | undefined {
  const { at } = reader.peek();
  if (reader.takeWord('IS', 'NULL')) return { kind: 'is-null', at, of: left, isNegated: false };
  if (reader.takeWord('IS', 'NOT', 'NULL'))
    return { kind: 'is-null', at, of: left, isNegated: true };
  if (reader.isWord('IS'))
    throw reader.unsupported(at, 'a test of a type by IS', 'say IS NULL, IS NOT NULL or n:Label');
  if (reader.takeWord('STARTS', 'WITH')) return binary('starts with', at, left, parseSum(reader));
  if (reader.takeWord('ENDS', 'WITH')) return binary('ends with', at, left, parseSum(reader));
  if (reader.takeWord('CONTAINS')) return binary('contains', at, left, parseSum(reader));
  if (reader.takeWord('IN')) return binary('in', at, left, parseSum(reader));
  if (reader.takeSign('=~')) return binary('=~', at, left, parseSum(reader));
  return undefined;
}

function parseSum(reader: TokenReader): Expression {
  let left = parseProduct(reader);
  for (;;) {
    const { at } = reader.peek();
    // `--` in front of a value is two signs; of a pattern it was taken before.
    if (reader.takeSign('--'))
      left = binary('-', at, left, { kind: 'negate', at, of: parseProduct(reader) });
    else if (reader.takeSign('+')) left = binary('+', at, left, parseProduct(reader));
    else if (reader.takeSign('-')) left = binary('-', at, left, parseProduct(reader));
    else return left;
  }
}

function parseProduct(reader: TokenReader): Expression {
  let left = parsePower(reader);
  for (;;) {
    const { at } = reader.peek();
    const operator = (['*', '/', '%'] as const).find((sign) => reader.takeSign(sign));
    if (operator === undefined) return left;
    left = binary(operator, at, left, parsePower(reader));
  }
}

function parsePower(reader: TokenReader): Expression {
  let left = parseSigned(reader);
  for (let { at } = reader.peek(); reader.takeSign('^'); { at } = reader.peek())
    left = binary('^', at, left, parseSigned(reader));
  return left;
}

function parseSigned(reader: TokenReader): Expression {
  const { at } = reader.peek();
  if (reader.takeSign('-')) {
    // The smallest integer has no positive counterpart, so its sign belongs to it.
    const next = reader.peek();
    if (next.kind === 'integer' && next.text === '9223372036854775808') {
      reader.take();
      return { kind: 'integer', at, value: -(2n ** 63n) };
    }
    return { kind: 'negate', at, of: reader.deeper(() => parseSigned(reader)) };
  }
  if (reader.takeSign('+'))
    return { kind: 'plus', at, of: reader.deeper(() => parseSigned(reader)) };
  return parseMembers(reader);
}

/** `a.b`, `a[0]`, `a[1..2]`, `n:Label`. */
function parseMembers(reader: TokenReader): Expression {
  let of = parseAtom(reader);
  for (;;) {
    const { at } = reader.peek();
    if (reader.takeSign('.'))
      of = { kind: 'property', at, of, name: reader.needName('a property') };
    else if (reader.takeSign('[')) of = parseIndex(reader, at, of);
    else if (reader.isSign(':') && of.kind !== 'map') {
      const labels = parseLabels(reader);
      if (labels !== undefined) of = { kind: 'has-labels', at, of, labels };
    } else return of;
  }
}

function parseIndex(reader: TokenReader, at: number, of: Expression): Expression {
  const from = reader.isSign('..') ? undefined : parseExpression(reader);
  if (reader.takeSign('..')) {
    const to = reader.isSign(']') ? undefined : parseExpression(reader);
    reader.needSign(']', 'behind a part of a list');
    return { kind: 'slice', at, of, from, to };
  }
  reader.needSign(']', 'behind an index');
  if (from === undefined) throw reader.expected('an index', 'between the brackets');
  return { kind: 'index', at, of, index: from };
}

/** `{key: value, …}` */
export function parseMap(reader: TokenReader): Expression {
  const { at } = reader.needSign('{', 'at the begin of a map');
  const entries: MapEntry[] = [];
  if (!reader.isSign('}')) {
    do {
      const key = reader.needName('a key');
      reader.needSign(':', 'behind a key');
      entries.push({ key, value: parseExpression(reader) });
    } while (reader.takeSign(','));
  }
  reader.needSign('}', 'at the end of a map');
  return { kind: 'map', at, entries };
}

function binary(
  operator: BinaryOperator,
  at: number,
  left: Expression,
  right: Expression,
): Expression {
  return { kind: 'binary', at, operator, left, right };
}
