import type { DeadLetterRecord } from '#queue';
import type { Key } from '#record';

/** Which letters are meant; all given members must match. */
export interface LetterFilter {
  readonly id?: string;
  readonly key?: Key;
  readonly session?: string;
  readonly workspace?: string;
  readonly code?: string;
  readonly event?: string;
  /** Letters made at or after this time, RFC 3339 UTC. */
  readonly since?: string;
  /** Letters of earlier epochs too, and those that were requeued or discarded. */
  readonly withRetired?: boolean;
  /** Only these workspaces are the caller's to see; undefined means all. */
  readonly visibleWorkspaces?: readonly string[];
}

/** A letter with the names of its session. */
export interface Letter extends DeadLetterRecord {
  readonly workspace: string;
  readonly session: string;
  /** The `event` of the record; undefined when its bytes are not an event. */
  readonly event: string | undefined;
}

export interface LetterPage {
  readonly letters: readonly Letter[];
  /** Hand it back for the next page; undefined after the last. */
  readonly nextPageToken?: string;
}

/** Who asks, as it is kept with the letter and in the audit log. */
export interface LetterActor {
  readonly principal: string;
}

export interface RequeueResult {
  readonly id: string;
  readonly key: Key;
  readonly status: 'queued' | 'duplicate';
  readonly epoch: string;
  readonly position: string;
}

export interface RequeueAllResult {
  readonly key: Key;
  readonly requeued: readonly RequeueResult[];
  /** More letters are live than one call takes: call again. */
  readonly hasMore: boolean;
}

export interface DiscardResult {
  readonly isDryRun: boolean;
  /** Ids of the letters that were, or would be, discarded; at most the page limit. */
  readonly ids: readonly string[];
  readonly count: number;
  /** More letters match than one call takes: call again. */
  readonly hasMore: boolean;
}

/** Operators' acts on dead letters (ING-711…718). Letters leave only by a named act (D22). */
export interface DeadLetters {
  list(
    filter: LetterFilter,
    page: { readonly limit: number; readonly pageToken?: string },
  ): Promise<LetterPage>;
  /** Undefined when there is no such letter. */
  show(id: string): Promise<Letter | undefined>;
  /** Appends the payload again, as a new record (ING-714); rejects with DEAD_LETTER_STATE when the letter has an outcome. */
  requeue(id: string): Promise<RequeueResult>;
  /** All live letters of one key, oldest first. */
  requeueKey(key: Key): Promise<RequeueAllResult>;
  discard(
    filter: LetterFilter,
    actor: LetterActor,
    options: { readonly isDryRun: boolean },
  ): Promise<DiscardResult>;
}
