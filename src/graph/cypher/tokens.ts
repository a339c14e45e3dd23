import { cypherInvalid } from './errors.ts';

/** One word of a query. */
export interface Token {
  readonly kind: 'word' | 'quoted' | 'integer' | 'float' | 'string' | 'parameter' | 'sign' | 'end';
  /** A word, name or sign as it was written; of a string the value. */
  readonly text: string;
  readonly at: number;
  /** Offset behind it. */
  readonly end: number;
}

/** Longest first, so that `<=` is not read as `<`. */
const signs = [
  '<=',
  '>=',
  '<>',
  '=~',
  '..',
  '+=',
  '->',
  '<-',
  '--',
  ...Array.from('()[]{},.:;|+-*/%^=<>!&'),
];

const space = /[\s\u00a0\ufeff]+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const word = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}]*/uy;
const hexadecimal = /0x[0-9a-f]+(?:_[0-9a-f]+)*/iy;
const octal = /0o[0-7]+(?:_[0-7]+)*/iy;
const float = /(?:\d[\d_]*)?\.\d[\d_]*(?:e[+-]?\d+)?|\d[\d_]*e[+-]?\d+/iy;
const integer = /\d[\d_]*/y;
const parameter = /\$(?:([\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}_]*)|(\d+)|`((?:[^`]|``)*)`)/uy;
const quoted = /`((?:[^`]|``)*)`/y;

/** Words of a query and an end behind them; CYPHER_INVALID for what is no word. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    if (at >= text.length) break;
    const token = nextToken(text, at);
    tokens.push(token);
    at = token.end;
  }
  return [...tokens, { kind: 'end', text: '', at: text.length, end: text.length }];
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const found = matchAt(space, text, at);
    if (found !== undefined) {
      at += found[0].length;
      continue;
    }
    if (text.startsWith('/*', at)) throw cypherInvalid(text, at, 'this comment has no end');
    return at;
  }
}

function nextToken(text: string, at: number): Token {
  const first = text[at] ?? '';
  if (first === "'" || first === '"') return stringToken(text, at, first);
  const named = matchAt(parameter, text, at);
  if (named !== undefined) {
    const name = named[1] ?? named[2] ?? (named[3] ?? '').replaceAll('``', '`');
    return tokenOf('parameter', name, at, named[0]);
  }
  const ticked = matchAt(quoted, text, at);
  if (ticked !== undefined)
    return tokenOf('quoted', (ticked[1] ?? '').replaceAll('``', '`'), at, ticked[0]);
  const number = numberToken(text, at);
  if (number !== undefined) return number;
  const plain = matchAt(word, text, at);
  if (plain !== undefined) return tokenOf('word', plain[0], at, plain[0]);
  const sign = signs.find((one) => text.startsWith(one, at));
  if (sign !== undefined) return tokenOf('sign', sign, at, sign);
  throw cypherInvalid(text, at, `${JSON.stringify(first)} has no meaning here`);
}

/** `1..3` is a range and not a float. */
function numberToken(text: string, at: number): Token | undefined {
  const based = matchAt(hexadecimal, text, at) ?? matchAt(octal, text, at);
  if (based !== undefined) return tokenOf('integer', based[0].replaceAll('_', ''), at, based[0]);
  const fraction = matchAt(float, text, at);
  const isRange = fraction !== undefined && text.startsWith('..', at + wholeDigits(text, at));
  if (fraction !== undefined && !isRange)
    return tokenOf('float', fraction[0].replaceAll('_', ''), at, fraction[0]);
  const whole = matchAt(integer, text, at);
  return whole === undefined
    ? undefined
    : tokenOf('integer', whole[0].replaceAll('_', ''), at, whole[0]);
}

function wholeDigits(text: string, at: number): number {
  return matchAt(integer, text, at)?.[0].length ?? 0;
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
};

function stringToken(text: string, at: number, quote: string): Token {
  let value = '';
  let next = at + 1;
  for (;;) {
    const one = text[next];
    if (one === undefined) throw cypherInvalid(text, at, 'this string has no end');
    if (one === quote) return { kind: 'string', text: value, at, end: next + 1 };
    if (one !== '\\') {
      value += one;
      next += 1;
      continue;
    }
    const hex = /^(?:u[0-9a-f]{4}|U[0-9a-f]{8})/i.exec(text.slice(next + 1, next + 10))?.[0];
    const plain = escapes[text[next + 1] ?? ''];
    if (hex !== undefined) {
      const code = Number.parseInt(hex.slice(1), 16);
      if (code > 0x10ffff) throw cypherInvalid(text, next, 'no character has this number');
      value += String.fromCodePoint(code);
      next += hex.length + 1;
    } else if (plain !== undefined) {
      value += plain;
      next += 2;
    } else throw cypherInvalid(text, next, 'this escape has no meaning; a backslash is \\\\');
  }
}

function tokenOf(kind: Token['kind'], value: string, at: number, written: string): Token {
  return { kind, text: value, at, end: at + written.length };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
