import type { Access } from '#access';
import type { Chance, Clock } from '#base';
import type { Console } from '#console';
import type { TraceSessions } from '#formats';
import type { Ingest } from '#ingest';
import type { OpsContext, Verb } from '#ops';
import type { Health } from './health.ts';

export interface HttpServerOptions {
  readonly ingest: Ingest;
  readonly access: Access;
  readonly verbs: readonly Verb[];
  readonly context: OpsContext;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly health: () => Health;
  /** Pages at `/`; none where it is not given. */
  readonly console?: Console;
  /** Sessions of OTLP traces that earlier requests named; of this server alone where it is not given. */
  readonly traces?: TraceSessions;
  readonly metrics: { readonly contentType: string; metricsText(): Promise<string> };
  /** `ingest.max_batch_bytes`. */
  readonly batchBytesMax: number;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Connections at once; more are closed unheard, and their clients try again (P9). No limit of its own where it is not given. */
  readonly connectionsMax?: number;
  /** Whether plain requests for events pass by Node's own HTTP, as they do where it is not given; for tests that compare both ways. */
  readonly fastPath?: boolean;
}

export interface HttpTimeouts {
  /** For the head of a request. */
  readonly headersMs: number;
  /** For a whole request, body included. */
  readonly requestMs: number;
  /** An idle connection is kept this long: longer than proxies keep theirs, so that they never send into one that we just closed. */
  readonly keepAliveMs: number;
  /** How often the two first are looked at. */
  readonly checkMs: number;
}

export const timeoutsDefault: HttpTimeouts = {
  headersMs: 30_000,
  requestMs: 300_000,
  keepAliveMs: 75_000,
  checkMs: 5000,
};
