import type { FencePermit } from '#fence';
import type { Cursor, Key, Position } from '#record';
import type { Mutation } from './mutation.ts';
import type { AnyPart } from './packed-part.ts';

/** One record, folded. */
export interface Step {
  readonly at: Position;
  readonly after: Position;
  /** SHA-256 of the record as appended, lower-case hex. */
  readonly sha256: string;
  readonly mutations: readonly Mutation[];
  readonly cursor: Cursor;
}

/** Consecutive records of one key, in log order. */
export interface GroupPart {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  readonly steps: readonly Step[];
}

/** The key's row in the graph (ING-540): written in the transaction of the mutations. */
export interface AppliedRow {
  /** Root whose queue the record came from; `apply` writes the one that the store was opened for. */
  readonly rootId: string;
  readonly position: Position;
  readonly sha256: string;
}

/** The rows of these keys that have one, or those after a key, in key order. */
export type WhichRows =
  | { readonly keys: readonly Key[] }
  | { readonly after: Key | undefined; readonly limit: number };

export interface GraphDigest {
  /** SHA-256 of the canonical export (D26), lower-case hex. */
  readonly digest: string;
  readonly nodes: number;
  readonly edges: number;
}

export interface GraphStats extends GraphDigestCounts {
  readonly labels: Readonly<Record<string, number>>;
  readonly types: Readonly<Record<string, number>>;
}

export interface GraphDigestCounts {
  readonly nodes: number;
  readonly edges: number;
}

export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** Rows were left out by the query's limit. */
  readonly hasMore: boolean;
}

export interface CypherQuery {
  readonly text: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Nothing of any other is seen; undefined: all. */
  readonly workspaces: readonly string[] | undefined;
  readonly limits: {
    readonly rows: number;
    /** Bytes of the answer as JSON. */
    readonly bytes: number;
    readonly timeMs: number;
  };
}

/**
 * A property graph. Contract suite: test/contract/graph. Errors: GRAPH_UNAVAILABLE, GRAPH_CONFLICT, GRAPH_DENIED (`retry`),
 * MUTATION_REFUSED (`poison`), FENCE_STALE, FENCE_LOST (`fenced`), GRAPH_MISMATCH (`corrupt`); queries: QUERY_UNKNOWN, QUERY_INVALID, QUERY_TIMEOUT
 * (`reject`).
 */
export interface GraphStore {
  /** Random id kept in the graph (ING-540). */
  readonly graphId: string;
  /** Values above it become objects when folded; fixed in the graph when it is made (D30). */
  readonly spillBytes: number;
  /** Raises this root's guards and returns the keys' rows as they are, those of another root too (FEN-411); null for a key without one. */
  armKeys(permit: FencePermit, keys: readonly Key[]): Promise<ReadonlyMap<Key, AppliedRow | null>>;
  /**
   * One transaction: fence check, mutations, derived values, rows (ING-533). Steps at or below a key's row are left out (ING-539). A failure
   * leaves the store as it was and never changes the group handed in (ING-851).
   */
  apply(permit: FencePermit, group: readonly AnyPart[]): Promise<void>;
  /** Rows as they are, those of another root too, without a look at the guard and without raising it: for `graph adopt` (ING-542). */
  rows(which: WhichRows): Promise<ReadonlyMap<Key, AppliedRow>>;
  /** Sets rows as ordered, null removes one; takes over the guards of another root. Only for `graph adopt` (ING-542). */
  adopt(permit: FencePermit, rows: ReadonlyMap<Key, AppliedRow | null>): Promise<void>;
  digest(): Promise<GraphDigest>;
  stats(): Promise<GraphStats>;
  /** The canonical export (D26) in chunks of whole lines. */
  export(): AsyncIterable<Uint8Array>;
  /** A named query (`namedQueries`); unknown names and parameters are refused. Stops at its time limit. */
  query(name: string, parameters: Readonly<Record<string, unknown>>): Promise<QueryResult>;
  /**
   * A read-only Cypher query (docs/cypher.md), within its limits and the workspaces of its caller. CYPHER_INVALID, CYPHER_UNSUPPORTED,
   * QUERY_TIMEOUT, QUERY_TOO_LARGE (`reject`); aborted by its signal.
   */
  cypher(query: CypherQuery, signal: AbortSignal): Promise<QueryResult>;
  /** Resolves when the store answers (ING-536); rejects with GRAPH_UNAVAILABLE. */
  probe(): Promise<void>;
  close(): Promise<void>;
}
