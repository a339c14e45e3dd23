import type { FencePermit } from '#fence';
import type { Key } from '#record';

/** A session to be taken out of the graph. */
export interface RemovedSession {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
}

export interface QuietSession {
  readonly workspace: string;
  readonly session: string;
  /** Time of its last event, RFC 3339 UTC. */
  readonly lastAt: string;
}

export interface SessionSurvey {
  readonly nodes: number;
  readonly bytes: number;
  readonly objects: readonly string[];
}

export interface GraphRemovalCounts {
  /** Nodes that are gone; those that others speak of stay as stubs and do not count. */
  readonly nodes: number;
  readonly edges: number;
}

/** What a graph store may be able to do besides (`GraphStore`): take sessions out again. */
export interface GraphRemoval {
  /** Gives free pages of its file back; what wants to write waits. */
  vacuum(): Promise<void>;
  /** Nodes that a session owns, bytes that they and their edges take in the file, about, and objects that their values name: what a removal would take. */
  survey(session: Omit<RemovedSession, 'key'>): Promise<SessionSurvey>;
  /** Bytes of the file that are in use; free pages are used again, and do not count. */
  usedBytes(): Promise<number>;
  /** Sessions that wrote something and nothing since a time (RFC 3339 UTC), longest quiet first; undefined: of all workspaces. */
  quiet(which: {
    readonly before: string;
    readonly limit: number;
    readonly workspaces: readonly string[] | undefined;
  }): Promise<readonly QuietSession[]>;
  /** Sessions below one, by parent edges, the session itself left out; nearest first. */
  descendants(session: Omit<RemovedSession, 'key'>): Promise<readonly string[]>;
  /**
   * Fence check; every node of the sessions with its edges, what they told of others, and their rows. What other sessions tell of them stays, as a
   * stub with its edges: the graph is as if the sessions had never been posted (P12). One transaction, or several of bounded size of which the last
   * is the one that others see; cut off in between, the same call ends it, and taken again it finds no node.
   */
  remove(permit: FencePermit, sessions: readonly RemovedSession[]): Promise<GraphRemovalCounts>;
  /** Those of the objects that no node names. Reads all nodes. */
  unreferenced(objects: readonly string[]): Promise<readonly string[]>;
  /**
   * When the last event came of the sessions that name each of the objects, RFC 3339 UTC; those that no node names are left out. Reads all nodes. A
   * session that tells no time is of now.
   */
  namedUntil(objects: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
