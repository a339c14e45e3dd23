import type { Expression, PathPattern } from './ast.ts';
import { cypherInvalid, cypherUnsupported } from './errors.ts';
import type { Budget, GraphView } from './view.ts';
import type { Instant } from './instant.ts';
import type { Value } from './values.ts';

/** Values by slot. Rows are never changed once they were handed on. */
export type Row = readonly Value[];

/** What one run of a query hands to every part of it. */
export interface Run {
  readonly view: GraphView;
  readonly budget: Budget;
  readonly parameters: ReadonlyMap<string, Value>;
  /** When the query began. */
  readonly now: Instant;
}

export type Evaluate = (row: Row, run: Run) => Value;

/** Null counts as false. */
export type Test = (row: Row, run: Run) => boolean;

/** What every relationship of a pattern must be. */
export type RelationshipTest = (value: Value, row: Row, run: Run) => boolean;

/** Where an expression is compiled. */
export interface Place {
  readonly source: Source;
  readonly scope: Scope;
  /** Takes an aggregate out and gives the slot in which its result will stand; undefined where none may stand. */
  readonly takeAggregate?: (aggregate: Expression) => number;
}

type Of<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;

/** Expressions that hold whole patterns and queries; whoever begins to compile hands them in. */
export interface InnerCompilers {
  pattern(pattern: PathPattern, place: Place): Evaluate;
  shortestPath(pattern: PathPattern, place: Place): Evaluate;
  subquery(subquery: Of<'subquery'>, place: Place): Evaluate;
}

/** Whether there is a row; no further one is looked for. */
export function hasAny(rows: Iterable<Row>): boolean {
  const iterator = rows[Symbol.iterator]();
  const isAny = iterator.next().done !== true;
  iterator.return?.();
  return isAny;
}

/** What a variable is bound to, as far as that is known before a query runs. */
export type VariableKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value';

/** Which variable stands in which slot of a row. */
export class Scope {
  readonly #slots: ReadonlyMap<string, number>;
  readonly #kinds: ReadonlyMap<string, VariableKind>;
  readonly size: number;

  constructor(
    slots: ReadonlyMap<string, number> = new Map(),
    size = 0,
    kinds: ReadonlyMap<string, VariableKind> = new Map(),
  ) {
    this.#slots = slots;
    this.#kinds = kinds;
    this.size = size;
  }

  slotOf(name: string): number | undefined {
    return this.#slots.get(name);
  }

  /** Undefined where only a run can tell. */
  kindOf(name: string): VariableKind | undefined {
    return this.#kinds.get(name);
  }

  /** Names that a query may use; hidden ones begin with a space. */
  get names(): readonly string[] {
    return [...this.#slots.keys()].filter((name) => !name.startsWith(' '));
  }

  /** With a further name in the next slot; one that was there is hidden by it. */
  with(name: string, kind?: VariableKind): Scope {
    const kinds = new Map(this.#kinds);
    if (kind === undefined) kinds.delete(name);
    else kinds.set(name, kind);
    return new Scope(new Map(this.#slots).set(name, this.size), this.size + 1, kinds);
  }

  /** With only these names; slots stay where they are. */
  only(names: readonly string[]): Scope {
    const kept = [...this.#slots].filter(([name]) => names.includes(name));
    return new Scope(new Map(kept), this.size, this.#kinds);
  }

  /** Room for values without a name. */
  grown(by: number): Scope {
    return new Scope(this.#slots, this.size + by, this.#kinds);
  }
}

/** The text that is compiled, for errors that name a place in it. */
export class Source {
  readonly text: string;
  readonly inner: InnerCompilers;

  constructor(text: string, inner: InnerCompilers) {
    this.text = text;
    this.inner = inner;
  }

  fault(at: number, reason: string): Error {
    return cypherInvalid(this.text, at, reason);
  }

  unsupported(at: number, clause: string, instead: string): Error {
    return cypherUnsupported(this.text, at, clause, instead);
  }
}
