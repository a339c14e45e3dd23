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
  interface FastifyContextConfig {
    /** The request carries events. */
    isIngest?: boolean;
    /** Anybody may ask: no principal is needed, though one may be given. */
    isOpen?: boolean;
    /** Not even the Host is looked at: probes of a platform come as they come. */
    isProbe?: boolean;
  }
}

export function freshState(): RequestState {
  return { principal: undefined, reservedBytes: 0, beganMs: 0 };
}

/** A request that waits for "100 Continue" before it sends its body. */
export interface WaitingMessage extends IncomingMessage {
  sayContinue?: () => void;
}
