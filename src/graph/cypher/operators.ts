import type { BinaryOperator } from './ast.ts';
import { compare, equals } from './compare.ts';
import { Duration, plusDuration } from './duration.ts';
import { Instant } from './instant.ts';
import { CypherMap, isList, kindOf, type Value } from './values.ts';

const integerMin = -(2n ** 63n);
const integerMax = 2n ** 63n - 1n;

/** Throws for what an operator cannot do with its operands; whoever evaluates knows the place. */
export type Fail = (reason: string) => never;

/** Both operands are known; `and`, `or` and `xor` are three-valued and stand in `logic`. */
export function operate(operator: BinaryOperator, left: Value, right: Value, fail: Fail): Value {
  switch (operator) {
    case '=':
      return equals(left, right);
    case '<>':
      return negated(equals(left, right));
    case '<':
    case '<=':
    case '>':
    case '>=':
      return ordered(operator, compare(left, right) ?? (areSame(operator, left, right) ? 0 : null));
    case 'in':
      return isIn(left, right, fail);
    case 'starts with':
    case 'ends with':
    case 'contains':
      return matchText(operator, left, right);
    case '=~':
      return matchPattern(left, right, fail);
    case '+':
      return add(left, right, fail);
    case '-':
    case '*':
    case '/':
    case '%':
    case '^':
      return calculate(operator, left, right, fail);
    default:
      return logic(operator, truth(left, fail), truth(right, fail));
  }
}

/** Durations have no order, but one is at least as long as itself. */
function areSame(operator: BinaryOperator, left: Value, right: Value): boolean {
  const takesEqual = operator === '<=' || operator === '>=';
  return takesEqual && left instanceof Duration && equals(left, right) === true;
}

export function truth(value: Value, fail: Fail): boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  return fail(`a boolean is expected, and this is ${kindOf(value)}`);
}

export function negated(value: boolean | null): boolean | null {
  return value === null ? null : !value;
}

function logic(
  operator: 'and' | 'or' | 'xor',
  left: boolean | null,
  right: boolean | null,
): boolean | null {
  if (operator === 'xor') return left === null || right === null ? null : left !== right;
  const decides = operator === 'or';
  if (left === decides || right === decides) return decides;
  return left === null || right === null ? null : !decides;
}

function ordered(operator: '<' | '<=' | '>' | '>=', result: number | null): boolean | null {
  if (result === null) return null;
  switch (operator) {
    case '<':
      return result < 0;
    case '<=':
      return result <= 0;
    case '>':
      return result > 0;
    case '>=':
      return result >= 0;
  }
}

function isIn(value: Value, list: Value, fail: Fail): boolean | null {
  if (list === null) return null;
  if (!isList(list)) return fail(`IN wants a list, and this is ${kindOf(list)}`);
  let isUnknown = false;
  for (const one of list) {
    const same = equals(value, one);
    if (same === true) return true;
    if (same === null) isUnknown = true;
  }
  return isUnknown ? null : false;
}

function matchText(
  operator: 'starts with' | 'ends with' | 'contains',
  left: Value,
  right: Value,
): boolean | null {
  if (typeof left !== 'string' || typeof right !== 'string') return null;
  if (operator === 'starts with') return left.startsWith(right);
  return operator === 'ends with' ? left.endsWith(right) : left.includes(right);
}

/** Longest pattern and text: a regular expression may take exponential time, and nothing can stop it. */
const patternLengthMax = 256;
const matchedLengthMax = 4096;

function matchPattern(left: Value, right: Value, fail: Fail): boolean | null {
  if (typeof left !== 'string' || typeof right !== 'string') return null;
  if (right.length > patternLengthMax || left.length > matchedLengthMax)
    return fail(
      `=~ takes patterns of ${patternLengthMax} and texts of ${matchedLengthMax} characters; use CONTAINS`,
    );
  if (isNestedRepeat(right))
    return fail('=~ takes no repetition of a group that repeats; use CONTAINS');
  const flags = /^\(\?([ims]+)\)/.exec(right);
  try {
    const pattern = flags === null ? right : right.slice(flags[0].length);
    return new RegExp(`^(?:${pattern})$`, `u${flags?.[1] ?? ''}`).test(left);
  } catch (error) {
    return fail(`=~ takes no such pattern: ${(error as Error).message}`);
  }
}

/** `(a+)+` and its like, by which a matcher that goes back needs exponential time. */
function isNestedRepeat(pattern: string): boolean {
  return /\([^()]*[+*}][^()]*\)[+*{]/.test(pattern) || /\)[+*{][^)]*\)[+*{]/.test(pattern);
}

function add(left: Value, right: Value, fail: Fail): Value {
  if (left === null || right === null) return null;
  if (isList(left)) return [...left, ...(isList(right) ? right : [right])];
  if (isList(right)) return [left, ...right];
  if (typeof left === 'string' || typeof right === 'string')
    return `${plainText(left, fail)}${plainText(right, fail)}`;
  return calculate('+', left, right, fail);
}

/** What a value is as part of a text. */
function plainText(value: Value, fail: Fail): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return floatText(value);
  if (value instanceof Instant || value instanceof Duration) return value.text;
  return fail(`${kindOf(value)} and a string cannot be put together`);
}

/** A float shows that it is one, and from ten millions on, or below a thousandth, by a power of ten. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [digits = '', power = ''] = value.toExponential().split('e');
  return `${digits.includes('.') ? digits : `${digits}.0`}E${power.replace('+', '')}`;
}

function calculate(
  operator: '+' | '-' | '*' | '/' | '%' | '^',
  left: Value,
  right: Value,
  fail: Fail,
): Value {
  if (left === null || right === null) return null;
  const moved = withDuration(operator, left, right);
  if (moved !== undefined) return moved;
  for (const value of [left, right])
    if (typeof value !== 'bigint' && typeof value !== 'number')
      return fail(`${operator} wants numbers, and this is ${kindOf(value)}`);
  if (typeof left === 'bigint' && typeof right === 'bigint' && operator !== '^')
    return whole(operator, left, right, fail);
  return fraction(operator, Number(left), Number(right));
}

/** Times and durations are put together, and durations made longer; undefined for everything else. */
function withDuration(
  operator: '+' | '-' | '*' | '/' | '%' | '^',
  left: Value,
  right: Value,
): Value | undefined {
  const isAdding = operator === '+' || operator === '-';
  const sign = operator === '-' ? -1n : 1n;
  if (isAdding && right instanceof Duration) {
    if (left instanceof Instant) return plusDuration(left, right, sign);
    if (left instanceof Duration) return left.plus(right, sign);
  }
  if (operator === '+' && left instanceof Duration && right instanceof Instant)
    return plusDuration(right, left, 1n);
  const [duration, factor] = left instanceof Duration ? [left, right] : [right, left];
  if (!(duration instanceof Duration)) return undefined;
  if (typeof factor !== 'bigint' && typeof factor !== 'number') return undefined;
  if (operator === '*') return duration.times(Number(factor));
  return operator === '/' && left === duration ? duration.times(1 / Number(factor)) : undefined;
}

function whole(
  operator: '+' | '-' | '*' | '/' | '%',
  left: bigint,
  right: bigint,
  fail: Fail,
): bigint {
  if ((operator === '/' || operator === '%') && right === 0n)
    return fail('an integer is divided by zero');
  switch (operator) {
    case '+':
      return bounded(left + right, fail);
    case '-':
      return bounded(left - right, fail);
    case '*':
      return bounded(left * right, fail);
    case '/':
      return bounded(left / right, fail);
    case '%':
      return left % right;
  }
}

export function bounded(value: bigint, fail: Fail): bigint {
  if (value < integerMin || value > integerMax) return fail('an integer has at most 64 bits');
  return value;
}

function fraction(
  operator: '+' | '-' | '*' | '/' | '%' | '^',
  left: number,
  right: number,
): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left % right;
    case '^':
      return left ** right;
  }
}

/** `of.name`: a property of a node, an edge, a map, a member of a time. */
export function memberOf(of: Value, name: string, fail: Fail): Value {
  if (of === null) return null;
  if (of instanceof CypherMap) return of.get(name);
  if (of instanceof Instant || of instanceof Duration) {
    const member = of.member(name) ?? (of instanceof Instant ? of.textMember(name) : undefined);
    if (member === undefined) return fail(`${kindOf(of)} has no member ${name}`);
    return member;
  }
  if (typeof of === 'object' && 'kind' in of && of.kind !== 'path') return of.properties.get(name);
  const instead = typeof of === 'string' ? '; in JSON text look by CONTAINS or =~' : '';
  return fail(`${kindOf(of)} has no property ${name}${instead}`);
}

/** `of[index]`: of a list by number, from the end when negative; of a map, node or edge by name. */
export function elementOf(of: Value, index: Value, fail: Fail): Value {
  if (of === null || index === null) return null;
  if (isList(of)) {
    if (typeof index !== 'bigint')
      return fail(`a list is read by an integer, and this is ${kindOf(index)}`);
    return of.at(Number(index)) ?? null;
  }
  if (typeof index !== 'string')
    return fail(`${kindOf(of)} is read by a string, and this is ${kindOf(index)}`);
  return memberOf(of, index, fail);
}

/** `of[from..to]` */
export function sliceOf(
  of: Value,
  from: Value | undefined,
  to: Value | undefined,
  fail: Fail,
): Value {
  if (of === null || from === null || to === null) return null;
  if (!isList(of)) return fail(`a part is taken of a list, and this is ${kindOf(of)}`);
  const bounds = [from, to].map((bound) => {
    if (bound === undefined) return undefined;
    if (typeof bound === 'bigint') return Number(bound);
    return fail(`a part of a list has integers as ends, and this is ${kindOf(bound)}`);
  });
  return of.slice(bounds[0] ?? 0, bounds[1]);
}
