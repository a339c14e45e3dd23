import type { BatchItem, DeadLetterRecord } from '#queue';
import type { Key } from '#record';
import type { LetterGroups } from './group-letters.ts';
import type { EditOrder } from './edit-letter.ts';
import type { Preview } from './preview-requeue.ts';

/** Which letters are meant; all given members must match. */
export interface LetterFilter {
  readonly id?: string;
  /** These letters and no other. */
  readonly ids?: readonly string[];
  readonly key?: Key;
  readonly session?: string;
  readonly workspace?: string;
  readonly code?: string;
  /** Those of one group (`fingerprintOf`). */
  readonly group?: string;
  readonly event?: string;
  /** Letters made at or after this time, RFC 3339 UTC. */
  readonly since?: string;
  /** Letters made before this time, RFC 3339 UTC. */
  readonly until?: string;
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

export interface RequeueOptions {
  /** Also a letter of an epoch that is over, into the session's present one (ING-715). */
  readonly intoCurrent?: boolean;
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

/** What stood beside a dead record in its log. */
export interface Surroundings {
  readonly before: readonly BatchItem[];
  readonly after: readonly BatchItem[];
}

/** What became of one letter of many. */
export interface LetterOutcome {
  readonly id: string;
  /** `already`: it was requeued or discarded by somebody before; `refused`: it stays, `code` and `message` say why. */
  readonly result: 'requeued' | 'discarded' | 'already' | 'refused';
  readonly code?: string;
  readonly message?: string;
  /** Of the new record, when it was appended now. */
  readonly stored?: Omit<RequeueResult, 'id' | 'key'>;
  /** What it was before, and since when, for one that is `already` settled. */
  readonly before?: { readonly kind: 'requeued' | 'discarded'; readonly ts: string };
  /** Of the new record of a letter that was requeued, now or before. */
  readonly position?: string;
}

/** Operators' acts on dead letters (ING-711…718). Letters leave only by a named act (D22). */
export interface DeadLetters {
  list(
    filter: LetterFilter,
    page: { readonly limit: number; readonly pageToken?: string },
  ): Promise<LetterPage>;
  /** All letters that match, those of one key oldest first; what comes meanwhile may be among them or not. */
  each(filter: LetterFilter): AsyncIterable<Letter>;
  /** The same by their reasons: many letters, few causes. */
  groups(filter: LetterFilter): Promise<LetterGroups>;
  /** Name of the group that it belongs to. */
  groupOf(letter: Letter): string;
  /** Undefined when there is no such letter. */
  show(id: string): Promise<Letter | undefined>;
  /** This letter and those that it was before or became by requeues, oldest first. */
  history(letter: Letter): Promise<readonly Letter[]>;
  /** Undefined when the log does not hold its place any more. */
  surroundings(letter: Letter, count: number): Promise<Surroundings | undefined>;
  /** What a requeue of these would do to the graph, folded and not applied; letters of one key in the order in which they are given. */
  preview(letters: readonly Letter[], options?: RequeueOptions): Promise<readonly Preview[]>;
  /** Appends the payload again, as a new record (ING-714); rejects with DEAD_LETTER_STATE when the letter has an outcome. */
  requeue(id: string, options?: RequeueOptions): Promise<RequeueResult>;
  /** The same with another payload; the letter keeps the original (ING-714). EDIT_REFUSED for a payload that is no event of its session. */
  edit(id: string, order: EditOrder): Promise<RequeueResult>;
  /** What an edit would do to the graph. */
  previewEdit(id: string, order: EditOrder): Promise<Preview>;
  /** All live letters of one key, oldest first. */
  requeueKey(key: Key): Promise<RequeueAllResult>;
  /** Letters of one key, in order, in as few appends as they fit; each has its result. Rejects with `retry` while the queue cannot take them. */
  requeueMany(
    key: Key,
    ids: readonly string[],
    options?: RequeueOptions,
  ): Promise<readonly LetterOutcome[]>;
  discardMany(
    key: Key,
    ids: readonly string[],
    actor: LetterActor,
  ): Promise<readonly LetterOutcome[]>;
  discard(
    filter: LetterFilter,
    actor: LetterActor,
    options: { readonly isDryRun: boolean },
  ): Promise<DiscardResult>;
}
