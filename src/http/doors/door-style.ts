import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '#access';
import type { IngestAnswer, Reject } from '#ingest';
import type { Failure } from '../failures/describe-failure.ts';

/** A request of a client that speaks another protocol than ours, its body unpacked. */
export interface ForeignRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
  readonly principal: Principal;
  /** RFC 3339 UTC, of its arrival. */
  readonly time: string;
}

/** What a protocol makes of a request: bodies of `POST /v1/events`, and what of it can be no event. */
export interface ForeignEvents {
  readonly bodies: readonly string[];
  /** Which part of the request each body comes from, where one part may give several. */
  readonly parts?: readonly number[];
  /** Parts that were refused before admission, with the first reason. */
  readonly refused: number;
  /** The same one by one, where the protocol has a place for that. */
  readonly rejects?: readonly Reject[];
  readonly reason: string;
}

export interface ForeignReply {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string | Uint8Array;
}

/** How one protocol is spoken: its media types, its events, its answers. Pure. */
export interface DoorStyle {
  /** A request without any body is one of nothing. */
  readonly takesEmpty: boolean;
  /** Throws MEDIA_TYPE_UNSUPPORTED. */
  checkType(headers: IncomingHttpHeaders): void;
  /** Throws what refuses the request as a whole. */
  read(request: ForeignRequest): ForeignEvents;
  /** `answer` is undefined where there was nothing to store. Undefined: some of it was refused, and is told in our own words. */
  reply(
    answer: IngestAnswer | undefined,
    events: ForeignEvents,
    request: { readonly headers: IncomingHttpHeaders; readonly requestId: string },
  ): ForeignReply | undefined;
  /** The body of a failure in the protocol's own words; without it the envelope of ours. */
  fail?(failure: Failure, headers: IncomingHttpHeaders): Omit<ForeignReply, 'status'>;
}

/** Workspace of a request that names none in its events: `?workspace=`, the header, or the one that the token may use. */
export function workspaceOf({
  headers,
  query,
  principal,
}: Pick<ForeignRequest, 'headers' | 'query' | 'principal'>): string | undefined {
  const { workspace } = query;
  if (typeof workspace === 'string' && workspace.trim() !== '') return workspace;
  const header = headers['x-millrace-workspace'];
  if (typeof header === 'string' && header.trim() !== '') return header;
  return principal.workspaces?.length === 1 ? principal.workspaces[0] : undefined;
}
