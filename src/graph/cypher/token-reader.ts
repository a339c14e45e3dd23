import type { Expression, Query } from './ast.ts';
import { cypherInvalid, cypherUnsupported } from './errors.ts';
import { tokensOf, type Token } from './tokens.ts';

/** A query deeper than this is refused: the parser and the evaluator go down with it. */
const depthMax = 200;

/** Parts of the grammar that stand in one another; whoever begins to read hands them in. */
export interface Grammar {
  expression(reader: TokenReader): Expression;
  map(reader: TokenReader): Expression;
  query(reader: TokenReader, options: { readonly mayEndOpen: boolean }): Query;
}

/** Reads a query word by word; words of the language are told apart from names by where they stand. */
export class TokenReader {
  readonly text: string;
  readonly grammar: Grammar;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;
  #isBarTaken = false;

  constructor(text: string, grammar: Grammar) {
    this.text = text;
    this.grammar = grammar;
    this.#tokens = tokensOf(text);
  }

  /** The token `ahead` of the next one, which stays. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)] as Token;
  }

  take(): Token {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  /** Where the reader stands, to come back to. */
  get mark(): number {
    return this.#next;
  }

  goBack(mark: number): void {
    this.#next = mark;
  }

  isSign(sign: string, ahead = 0): boolean {
    const { kind, text } = this.peek(ahead);
    return kind === 'sign' && text === sign;
  }

  /** These words of the language, in any case, one behind the other. */
  isWord(...words: readonly string[]): boolean {
    return words.every((word, at) => {
      const { kind, text } = this.peek(at);
      return kind === 'word' && text.toUpperCase() === word;
    });
  }

  takeSign(sign: string): boolean {
    if (!this.isSign(sign)) return false;
    this.#next += 1;
    return true;
  }

  takeWord(...words: readonly string[]): boolean {
    if (!this.isWord(...words)) return false;
    this.#next += words.length;
    return true;
  }

  needSign(sign: string, where: string): Token {
    const token = this.peek();
    if (!this.takeSign(sign)) throw this.expected(`"${sign}"`, where);
    return token;
  }

  needWord(word: string, where: string): void {
    if (!this.takeWord(word)) throw this.expected(word, where);
  }

  /** A name: a word, or anything between backticks. */
  needName(what: string): string {
    const token = this.peek();
    if (token.kind !== 'word' && token.kind !== 'quoted') throw this.expected(what, 'here');
    this.#next += 1;
    return token.text;
  }

  expected(what: string, where: string): Error {
    const { kind, text, at } = this.peek();
    const found = kind === 'end' ? 'the query ends' : `"${text}" stands`;
    return cypherInvalid(this.text, at, `${what} is expected ${where}, and ${found} there`);
  }

  invalid(at: number, reason: string): Error {
    return cypherInvalid(this.text, at, reason);
  }

  unsupported(at: number, clause: string, instead: string): Error {
    return cypherUnsupported(this.text, at, clause, instead);
  }

  /** Runs `read` one level deeper. */
  deeper<T>(read: () => T): T {
    if (this.#depth >= depthMax)
      throw this.invalid(this.peek().at, `nothing may be nested deeper than ${depthMax} levels`);
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Whether `|` ends what is read, as in a list comprehension, and joins no labels. */
  get isBarTaken(): boolean {
    return this.#isBarTaken;
  }

  /** Runs `read` with `|` as the end of what it reads, or as part of it again, as between brackets. */
  withBar<T>(isTaken: boolean, read: () => T): T {
    const before = this.#isBarTaken;
    this.#isBarTaken = isTaken;
    try {
      return read();
    } finally {
      this.#isBarTaken = before;
    }
  }

  /** The text from the token at one mark to the one before another. */
  writtenBetween(first: number, behind: number): string {
    const from = this.#tokens[first]?.at ?? 0;
    const to = this.#tokens[behind - 1]?.end ?? from;
    return this.text.slice(from, to);
  }
}
