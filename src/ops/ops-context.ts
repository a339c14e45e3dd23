import type { Clock } from '#base';
import type { DeadLetters } from '#dead-letters';
import type { Drain } from '#drain';
import type { GraphStore } from '#graph';
import type { QueueBackend, QueueLedger } from '#queue';

/** A token as an operator sees it; the secret is kept only as a hash. */
export interface TokenView {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Undefined means all. */
  readonly workspaces?: readonly string[];
  /** RFC 3339 UTC. */
  readonly createdAt: string;
  readonly expiresAt?: string;
}

/** The token book of room access. Changes take effect without a restart. */
export interface TokenBook {
  /** Makes a token and returns its secret, which is shown this once. */
  add(token: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly workspaces?: readonly string[];
    readonly expiresAt?: string;
  }): Promise<{ readonly token: string; readonly view: TokenView }>;
  list(): Promise<readonly TokenView[]>;
  /** False when there is no token of this name. */
  revoke(name: string): Promise<boolean>;
}

export interface Degradation {
  readonly code: string;
  readonly message: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly since: string;
}

export interface DiskFacts {
  readonly path: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Versions of everything that is stored or spoken (ING-904). */
export interface Versions {
  readonly product: string;
  readonly protocol: string;
  readonly offsetRecord: number;
  readonly cursorSchema: number;
  readonly controlSchema: number;
}

/** What verbs need of the running daemon; made in room daemon. */
export interface OpsContext {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  readonly graph: GraphStore;
  readonly drain: Drain;
  readonly deadLetters: DeadLetters;
  readonly tokens: TokenBook;
  readonly clock: Clock;
  readonly versions: Versions;
  /** What is published of the configuration (`/v1/limits`): key of config → value. */
  readonly limits: Readonly<Record<string, string | number | null>>;
  /** Phase of the daemon: `ready`, `draining`, … */
  state(): string;
  /** Troubles that neither the ledger nor the drain knows (such as a lost tenure). */
  degraded(): readonly Degradation[];
  disk(): Promise<DiskFacts>;
}
