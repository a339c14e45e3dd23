import type { IncomingMessage } from 'node:http';
import type { Principal } from '#access';

/** What the hooks have found out about a request. */
export interface RequestState {
  /** Undefined where nobody is proved and nobody needs to be. */
  principal: Principal | undefined;
  /** Of the body, counted by ingest until the request is answered. */
  reservedBytes: number;
  /** Monotonic, when the body was whole. */
  beganMs: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
  }
}

/** A request that waits for "100 Continue" before it sends its body. */
export interface WaitingMessage extends IncomingMessage {
  sayContinue?: () => void;
}
