import type { IncomingHttpHeaders } from 'node:http';
import type { WaitingMessage } from './request-state.ts';

/** A request with events as far as its head tells, before anything of it was looked at. */
export interface AskedHead {
  readonly headers: IncomingHttpHeaders;
  readonly response: EventsResponse;
  /** Told in the answer, and in the log. */
  readonly id: string;
  /** As it was asked. */
  readonly url: string;
  /** The pattern of its route, for the metrics. */
  readonly route: string;
  /** Session id of the path. */
  readonly session?: string | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

/** The same with its body still to come. */
export interface AskedEvents extends AskedHead {
  readonly request: WaitingMessage;
}

/** Names in the case in which they are sent. */
export type AnswerHeaders = Readonly<Record<string, string | number>>;

/** What is asked of a response: Node's own is one, and the fast path has another. */
export interface EventsResponse {
  readonly headersSent: boolean;
  writeHead(status: number, headers: AnswerHeaders): { end(body: string | Uint8Array): unknown };
}
