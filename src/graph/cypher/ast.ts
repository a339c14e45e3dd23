/** The tree of a read-only query; every part that an error can name knows its place. */
export interface Place {
  /** Offset into the text, in UTF-16 units. */
  readonly at: number;
}

export interface Query {
  readonly parts: readonly SingleQuery[];
  /** Between the parts: `UNION` (distinct) or `UNION ALL`; one kind in a query. */
  readonly union: 'all' | 'distinct' | undefined;
}

export interface SingleQuery {
  readonly clauses: readonly Clause[];
}

export type Clause = MatchClause | UnwindClause | WithClause | ReturnClause | CallClause;

export interface MatchClause extends Place {
  readonly kind: 'match';
  readonly isOptional: boolean;
  readonly patterns: readonly PathPattern[];
  readonly where: Expression | undefined;
}

export interface UnwindClause extends Place {
  readonly kind: 'unwind';
  readonly list: Expression;
  readonly variable: string;
}

export interface WithClause extends Place {
  readonly kind: 'with';
  readonly projection: Projection;
  readonly where: Expression | undefined;
}

export interface ReturnClause extends Place {
  readonly kind: 'return';
  readonly projection: Projection;
}

/** `CALL { … }`, run once per row; `imports` are the outer variables that it may use. */
export interface CallClause extends Place {
  readonly kind: 'call';
  readonly imports: readonly string[] | 'all';
  readonly query: Query;
}

export interface Projection extends Place {
  readonly isDistinct: boolean;
  /** `*`: every variable in scope, before `items`. */
  readonly hasAll: boolean;
  readonly items: readonly ProjectionItem[];
  readonly orderBy: readonly SortItem[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
}

export interface ProjectionItem extends Place {
  readonly expression: Expression;
  /** The alias, else the variable's name, else the text as it was written. */
  readonly name: string;
  readonly hasAlias: boolean;
}

export interface SortItem {
  readonly expression: Expression;
  readonly isDescending: boolean;
}

export interface PathPattern extends Place {
  readonly variable: string | undefined;
  readonly search: 'all' | 'shortest' | 'all-shortest';
  /** One more than `relationships`. */
  readonly nodes: readonly NodePattern[];
  readonly relationships: readonly RelationshipPattern[];
}

export interface NodePattern extends Place {
  readonly variable: string | undefined;
  readonly labels: LabelExpression | undefined;
  readonly properties: Expression | undefined;
  readonly where: Expression | undefined;
}

export interface RelationshipPattern extends Place {
  readonly variable: string | undefined;
  readonly types: LabelExpression | undefined;
  readonly direction: 'out' | 'in' | 'both';
  readonly length: { readonly min: number; readonly max: number } | undefined;
  readonly properties: Expression | undefined;
  readonly where: Expression | undefined;
}

export type LabelExpression =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'not'; readonly of: LabelExpression }
  | {
      readonly kind: 'and' | 'or';
      readonly left: LabelExpression;
      readonly right: LabelExpression;
    };

export type BinaryOperator =
  | 'or'
  | 'xor'
  | 'and'
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | 'in'
  | 'starts with'
  | 'ends with'
  | 'contains'
  | '=~';

export type Expression = Place &
  (
    | { readonly kind: 'null' }
    | { readonly kind: 'boolean'; readonly value: boolean }
    | { readonly kind: 'integer'; readonly value: bigint }
    | { readonly kind: 'float'; readonly value: number }
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'parameter'; readonly name: string }
    | { readonly kind: 'variable'; readonly name: string }
    | { readonly kind: 'list'; readonly items: readonly Expression[] }
    | { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
    | { readonly kind: 'property'; readonly of: Expression; readonly name: string }
    | { readonly kind: 'index'; readonly of: Expression; readonly index: Expression }
    | {
        readonly kind: 'slice';
        readonly of: Expression;
        readonly from: Expression | undefined;
        readonly to: Expression | undefined;
      }
    | { readonly kind: 'has-labels'; readonly of: Expression; readonly labels: LabelExpression }
    | { readonly kind: 'not' | 'negate' | 'plus'; readonly of: Expression }
    | { readonly kind: 'is-null'; readonly of: Expression; readonly isNegated: boolean }
    | {
        readonly kind: 'binary';
        readonly operator: BinaryOperator;
        readonly left: Expression;
        readonly right: Expression;
      }
    | {
        readonly kind: 'call';
        /** Lower case, parts joined by a dot. */
        readonly name: string;
        readonly isDistinct: boolean;
        readonly arguments: readonly Expression[];
      }
    | { readonly kind: 'count-all' }
    | {
        readonly kind: 'case';
        readonly subject: Expression | undefined;
        readonly branches: readonly CaseBranch[];
        readonly otherwise: Expression | undefined;
      }
    | {
        readonly kind: 'list-comprehension';
        readonly variable: string;
        readonly list: Expression;
        readonly where: Expression | undefined;
        readonly map: Expression | undefined;
      }
    | {
        readonly kind: 'quantifier';
        readonly quantifier: 'all' | 'any' | 'none' | 'single';
        readonly variable: string;
        readonly list: Expression;
        readonly where: Expression;
      }
    | {
        readonly kind: 'reduce';
        readonly accumulator: string;
        readonly initial: Expression;
        readonly variable: string;
        readonly list: Expression;
        readonly step: Expression;
      }
    | {
        readonly kind: 'map-projection';
        readonly of: string;
        readonly items: readonly MapProjectionItem[];
      }
    | {
        readonly kind: 'subquery';
        readonly result: 'exists' | 'count' | 'collect';
        readonly query: Query;
      }
    | { readonly kind: 'pattern'; readonly pattern: PathPattern }
    | {
        readonly kind: 'shortest-path';
        readonly pattern: PathPattern;
      }
  );

export interface CaseBranch {
  readonly when: Expression;
  readonly value: Expression;
}

export interface MapEntry {
  readonly key: string;
  readonly value: Expression;
}

export type MapProjectionItem =
  | { readonly kind: 'all' }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'entry'; readonly key: string; readonly value: Expression };
