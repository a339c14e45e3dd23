import type { IncomingMessage } from 'node:http';
import type { Principal } from '#access';

/** What the hooks have found out about a request. */
export interface RequestState {
  /** Undefined where nobody is proved and nobody needs to be. */
  principal: Principal | undefined;
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
