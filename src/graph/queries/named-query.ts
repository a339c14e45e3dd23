/** A question that every store answers alike: one file each. Workspace is a parameter of all of them, and a column of every answer. */
export interface NamedQuery {
  readonly name: string;
  /** One sentence for people. */
  readonly tells: string;
  readonly parameters: Readonly<Record<string, QueryParameter>>;
  readonly columns: readonly string[];
  /**
   * For the embedded store: joins in a fixed order (CROSS JOIN: the same four hops took 11,498 ms with a plain JOIN and 15 ms so), `tick()` in
   * each scan so that the time limit can stop it, `:limit` rows.
   */
  readonly sql: string;
}

export interface QueryParameter {
  /**
   * `text`; `workspaces`: one name or a list; `session`: bound as the id of the session's node too; `count`: a whole number from 1; `time`: RFC
   * 3339, bound in canonical form.
   */
  readonly kind: 'text' | 'workspaces' | 'session' | 'count' | 'time';
  readonly tells: string;
  readonly isRequired?: boolean;
  readonly default?: number;
  readonly max?: number;
}

/** Rows that one answer can have. */
export const queryRowsMax = 10_000;

export const workspaceParameter: QueryParameter = {
  kind: 'workspaces',
  tells: 'only these workspaces: one name or a list; all without it',
};

export const limitParameter: QueryParameter = {
  kind: 'count',
  tells: 'rows at most',
  default: 100,
  max: queryRowsMax,
};

/** Condition on a workspace `w`. */
export const inWorkspaces =
  '(:workspace IS NULL OR w.name IN (SELECT value FROM json_each(:workspace)))';

/** A property of node `n` in `visible`; a time as its text. */
export function property(name: string, node = 'n'): string {
  return `json_extract(${node}.visible, '$.${name}')`;
}

export function timeProperty(name: string, node = 'n'): string {
  return `json_extract(${node}.visible, '$.${name}."$time"')`;
}

/** Whether a node has a label. The label's number is looked up once per query. */
export function hasLabel(label: string, node = 'n'): string {
  return `EXISTS (SELECT 1 FROM node_label x WHERE x.nid = ${node}.nid AND x.lid = (SELECT lid FROM label WHERE name = '${label}'))`;
}

export function labelNumber(label: string): string {
  return `(SELECT lid FROM label WHERE name = '${label}')`;
}

export function typeNumber(type: string): string {
  return `(SELECT tid FROM type WHERE name = '${type}')`;
}
