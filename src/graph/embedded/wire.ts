import { isMillraceError, messageOf, MillraceError, type Disposition } from '#base';
import type { FenceMark } from '../fence-mark.ts';
import type { Mutation } from '../mutation.ts';
import type { GraphRemoval, QuietSession, RemovedSession } from '../removal.ts';
import type {
  AppliedRow,
  CypherQuery,
  GraphDigest,
  GraphStats,
  QueryResult,
  WhichRows,
} from '../store.ts';
import { classifySqliteError } from './classify.ts';

/** What both threads are started with. */
export interface ThreadStart {
  readonly path: string;
  /** Given when a file that was open before is opened again: another graph in its place is refused. */
  readonly graphId?: string;
}

/** `none`: the file is known to be as it was left; `quick`: every page; `full`: every index entry as well. Of large files nothing. */
export type GraphCheck = 'none' | 'quick' | 'full';

export interface WriterStart extends ThreadStart {
  /** For a graph that is made now. */
  readonly newGraphId: string;
  readonly newSpillBytes: number;
  readonly lockWaitMs: number;
  /** The write-ahead log is written back when it is this long. */
  readonly walBytesMax: number;
  readonly check: GraphCheck;
}

/** The first answer of a thread: its database is open. */
export interface Opened {
  readonly graphId: string;
  readonly spillBytes: number;
}

/** A part of a group as it crosses the border: no cursor, which the store does not keep. */
export interface WirePart {
  readonly key: string;
  readonly workspace: string;
  readonly session: string;
  readonly steps: readonly WireStep[];
}

export interface WireStep {
  readonly after: string;
  readonly sha256: string;
  readonly mutations: readonly Mutation[];
}

export type RowEntry = readonly [key: string, row: AppliedRow | null];

export type WriterRequest =
  | { readonly kind: 'arm'; readonly fence: FenceMark; readonly keys: readonly string[] }
  /** `group` is the JSON of WirePart[] in UTF-8, handed over: bytes cross without a copy, and a text faster than objects (docs/graph.md). */
  | {
      readonly kind: 'apply';
      readonly fence: FenceMark;
      readonly rootId: string;
      readonly group: Uint8Array;
    }
  | { readonly kind: 'adopt'; readonly fence: FenceMark; readonly rows: readonly RowEntry[] }
  | {
      readonly kind: 'survey' | 'descendants';
      readonly workspace: string;
      readonly session: string;
    }
  | {
      readonly kind: 'remove';
      readonly fence: FenceMark;
      readonly sessions: readonly RemovedSession[];
    }
  | { readonly kind: 'rows'; readonly which: WhichRows }
  | { readonly kind: 'probe' | 'vacuum' }
  | { readonly kind: 'close' };

export type ReaderRequest =
  | {
      readonly kind: 'query';
      readonly name: string;
      readonly bindings: Readonly<Record<string, string | number | null>>;
      readonly limit: number;
      readonly timeLimitMs: number;
    }
  | {
      readonly kind: 'cypher';
      readonly query: CypherQuery;
      /** One 32-bit number, 1 once nobody waits for the answer any more. */
      readonly cancelled: SharedArrayBuffer;
    }
  | { readonly kind: 'quiet'; readonly which: Parameters<GraphRemoval['quiet']>[0] }
  | { readonly kind: 'unreferenced' | 'named-until'; readonly objects: readonly string[] }
  | { readonly kind: 'digest' }
  | { readonly kind: 'stats' | 'used-bytes' }
  | { readonly kind: 'snapshot-open' }
  | { readonly kind: 'snapshot-copy'; readonly snapshot: number; readonly path: string }
  | { readonly kind: 'snapshot-close'; readonly snapshot: number }
  | { readonly kind: 'export-open' }
  | { readonly kind: 'export-next'; readonly export: number }
  | { readonly kind: 'export-close'; readonly export: number };

export type ReaderAnswer =
  | QueryResult
  | GraphDigest
  | GraphStats
  | readonly string[]
  | readonly QuietSession[]
  | ReadonlyMap<string, string>
  | number
  | Uint8Array
  | undefined;

/** An error that crosses a thread border: classes do not. */
export interface Failure {
  readonly code: string | undefined;
  readonly disposition: Disposition | undefined;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stack: string | undefined;
}

export function encodeFailure(thrown: unknown): Failure {
  const error = isMillraceError(thrown) ? thrown : classifySqliteError(thrown);
  const message = messageOf(error ?? thrown);
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  if (error === undefined)
    return { code: undefined, disposition: undefined, message, details: {}, stack };
  return {
    code: error.code,
    disposition: error.disposition,
    message,
    details: error.details,
    stack,
  };
}

/** What has no code is a defect, and comes out as a plain error with the thread's stack as its cause. */
export function decodeFailure(failure: Failure): Error {
  const { code, disposition, message, details, stack } = failure;
  if (code === undefined || disposition === undefined)
    return new Error(`the graph thread failed: ${message}`, { cause: stack });
  return new MillraceError(code, disposition, message, details, stack);
}

/** What a query's thread and its caller tell each other meanwhile: whether nobody waits any more, and whether it has begun. */
export const cancelledAt = 0;
export const beganAt = 1;
