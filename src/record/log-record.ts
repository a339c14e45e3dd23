import type { JsonObject } from '#base';
import type { Key } from './key.ts';

/**
 * A stored line, parsed: what a handler folds (ING spec §4.5). The line itself is `{v:1, sid, id?, derived?, at, ws, by, ev, data, more?}`;
 * the backend adds and takes off its `crc`.
 */
export interface LogRecord {
  readonly key: Key;
  readonly workspace: string;
  /** The session id as the client named it, or `_no_session__<slug>` (ING-944). */
  readonly session: string;
  /** The client's event id, or with `isDerivedId` the one that its format made (D21). */
  readonly id: string | undefined;
  readonly isDerivedId: boolean;
  /** Accept time, RFC 3339 UTC with milliseconds. Never enters the graph (D26). */
  readonly acceptedAt: string;
  /** The authenticated principal. */
  readonly by: string | null;
  readonly event: string;
  readonly data: JsonObject;
  /** The client's other top-level members, such as `working_dir`. */
  readonly more: JsonObject | undefined;
}
