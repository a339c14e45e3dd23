import { assert, type MillraceError } from '#base';
import {
  commitConflict,
  deadLetterState,
  positionRegression,
  sessionQuarantined,
  type AppendOutcome,
  type KeyStatus,
  type QueueBackend,
  type QueueLedger,
} from '#queue';
import { parseKey, type Key } from '#record';
import type {
  DeadLetters,
  DiscardResult,
  Letter,
  LetterActor,
  LetterFilter,
  LetterPage,
  RequeueAllResult,
  RequeueResult,
} from './dead-letters.ts';
import { deadLetterRange, deadLetterUnknown, filterTooWide } from './errors.ts';
import { formatPageToken, keyOfLetterId, parsePageToken, type LetterPlace } from './letter-page.ts';
import { isNarrow, matchesKey, matchesLetter } from './match-letter.ts';
import { planRequeue } from './plan-requeue.ts';
import { toLetter } from './to-letter.ts';

export interface DeadLetterDependencies {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Tells the drain of a new record. */
  wake(key: Key): void;
}

/** Keys read from the ledger at once, and looked at by one call: a page may be short, and its token goes on (P9). */
const keysPerRead = 500;
const keysPerCallMax = 20_000;
/** Letters that one requeue or discard takes. */
export const lettersPerCallMax = 1000;
/** A discard races with the drain's commits of its key; each try reads the position again. */
const discardTriesMax = 20;

export function createDeadLetters(dependencies: DeadLetterDependencies): DeadLetters {
  return new QueueDeadLetters(dependencies);
}

class QueueDeadLetters implements DeadLetters {
  readonly #queue: QueueBackend;
  readonly #ledger: QueueLedger;
  readonly #wake: (key: Key) => void;

  constructor({ queue, ledger, wake }: DeadLetterDependencies) {
    this.#queue = queue;
    this.#ledger = ledger;
    this.#wake = wake;
  }

  async list(
    filter: LetterFilter,
    page: { readonly limit: number; readonly pageToken?: string },
  ): Promise<LetterPage> {
    const from = page.pageToken === undefined ? undefined : parsePageToken(page.pageToken);
    const letters: Letter[] = [];
    let place: LetterPlace | undefined;
    for await (const status of this.#keys(filter, from)) {
      place = { key: status.key };
      if (status.letters === undefined) break;
      const isResumed = from?.key === status.key;
      for (const letter of status.letters) {
        if (isResumed && from.at !== undefined && letter.at <= from.at) continue;
        if (!matchesLetter(filter, letter)) continue;
        if (letters.length === page.limit) {
          const last = letters.at(-1);
          assert(last !== undefined, 'a page has at least one letter');
          return { letters, nextPageToken: formatPageToken({ key: last.key, at: last.at }) };
        }
        letters.push(letter);
      }
      place = undefined;
    }
    return place === undefined ? { letters } : { letters, nextPageToken: formatPageToken(place) };
  }

  async show(id: string): Promise<Letter | undefined> {
    const key = keyOfLetterId(id);
    const status = key === undefined ? undefined : await this.#ledger.keyStatus(key);
    if (status === undefined) return undefined;
    return (await this.#lettersOf(status)).find((letter) => letter.id === id);
  }

  async requeue(id: string): Promise<RequeueResult> {
    const letter = await this.show(id);
    if (letter === undefined) throw deadLetterUnknown({ id });
    const status = await this.#ledger.keyStatus(letter.key);
    return this.#requeueOne(letter, status);
  }

  async requeueKey(key: Key): Promise<RequeueAllResult> {
    const status = await this.#ledger.keyStatus(key);
    if (status === undefined) return { key, requeued: [], hasMore: false };
    const live = (await this.#lettersOf(status)).filter(({ outcome }) => outcome.kind === 'live');
    const requeued: RequeueResult[] = [];
    for (const letter of live.slice(0, lettersPerCallMax)) {
      try {
        requeued.push(await this.#requeueOne(letter, status));
      } catch (error) {
        // Somebody else has settled it meanwhile.
        // A range is no record, and stays.
        if (!deadLetterState.is(error) && !deadLetterRange.is(error)) throw error;
      }
    }
    return { key, requeued, hasMore: live.length > lettersPerCallMax };
  }

  async discard(
    filter: LetterFilter,
    actor: LetterActor,
    options: { readonly isDryRun: boolean },
  ): Promise<DiscardResult> {
    const { isDryRun } = options;
    if (!isDryRun && !isNarrow(filter)) throw filterTooWide({});
    const narrow = narrowToKey(filter);
    if (narrow === undefined) throw deadLetterUnknown({ id: filter.id ?? '' });
    const { letters, nextPageToken } = await this.list(
      { ...narrow, withRetired: filter.id !== undefined },
      { limit: lettersPerCallMax },
    );
    if (filter.id !== undefined && letters.length === 0) throw deadLetterUnknown({ id: filter.id });
    const settled = letters.find(({ outcome }) => outcome.kind !== 'live');
    if (settled !== undefined)
      throw deadLetterState({ id: settled.id, outcome: settled.outcome.kind });
    const ids = isDryRun ? letters.map(({ id }) => id) : await this.#discardAll(letters, actor);
    return { isDryRun, ids, count: ids.length, hasMore: nextPageToken !== undefined };
  }

  async #requeueOne(letter: Letter, status: KeyStatus | undefined): Promise<RequeueResult> {
    const { id, key, outcome } = letter;
    if (outcome.kind !== 'live') throw deadLetterState({ id, outcome: outcome.kind });
    if (status !== undefined && status.quarantine !== null)
      throw sessionQuarantined({ keys: [key], reason: status.quarantine.code });
    const input = planRequeue(letter);
    if (letter.records !== undefined || input === undefined)
      throw deadLetterRange({ id, records: letter.records ?? 1 });
    const [result] = await this.#queue.append([input]);
    assert(isStored(result), `a requeue is stored or a duplicate, not ${result?.status}`);
    this.#wake(key);
    const { status: stored, epoch, position } = result;
    return { id, key, status: stored, epoch, position };
  }

  /** Per key in one frame each, with position and cursor as they are (ING-713). */
  async #discardAll(letters: readonly Letter[], { principal: by }: LetterActor): Promise<string[]> {
    const byKey = Map.groupBy(letters, ({ key }) => key);
    const discarded: string[] = [];
    for (const [key, own] of byKey) {
      const ids = own.map(({ id }) => id);
      await this.#discardOf(key, ids, by);
      discarded.push(...ids);
    }
    return discarded;
  }

  async #discardOf(key: Key, ids: readonly string[], by: string): Promise<void> {
    const letters = ids.map((discarded) => ({ discarded, by }));
    for (let attempt = 1; ; attempt += 1) {
      // The position first: a commit in between makes the cursor newer than it, and is refused; the other way round would pass.
      const status = await this.#ledger.keyStatus(key);
      const cursor = await this.#queue.readCursor(key);
      assert(status !== undefined && cursor !== null, `a key with letters was committed: ${key}`);
      try {
        return await this.#queue.deadLetter(key, letters, status.committed, cursor);
      } catch (error) {
        if (!isOvertaken(error) || attempt >= discardTriesMax) throw error;
      }
    }
  }

  /** Keys that may have letters, from a place on, with their letters; without them when the call has looked at enough keys. */
  async *#keys(
    filter: LetterFilter,
    from: LetterPlace | undefined,
  ): AsyncGenerator<KeyStatus & { readonly letters: readonly Letter[] | undefined }> {
    if (filter.key !== undefined) {
      const status = await this.#ledger.keyStatus(filter.key);
      if (status !== undefined && matchesKey(filter, status))
        yield { ...status, letters: await this.#lettersOf(status) };
      return;
    }
    const begun = from?.at === undefined ? undefined : parseKey(from.key);
    if (begun !== undefined) {
      const status = await this.#ledger.keyStatus(begun);
      if (status !== undefined && matchesKey(filter, status))
        yield { ...status, letters: await this.#lettersOf(status) };
    }
    let looked = 0;
    let afterKey = from?.key;
    for (;;) {
      const statuses = await this.#readKeys(filter, afterKey);
      for (const status of statuses) {
        afterKey = status.key;
        looked += 1;
        if (matchesKey(filter, status)) yield { ...status, letters: await this.#lettersOf(status) };
        else if (looked >= keysPerCallMax) yield { ...status, letters: undefined };
      }
      if (statuses.length < keysPerRead) return;
    }
  }

  #readKeys(filter: LetterFilter, afterKey: Key | undefined): Promise<readonly KeyStatus[]> {
    const { session, workspace, withRetired } = filter;
    return this.#ledger.listKeys({
      limit: keysPerRead,
      ...(afterKey === undefined ? {} : { afterKey }),
      ...(session === undefined ? {} : { session }),
      ...(workspace === undefined ? {} : { workspace }),
      ...(withRetired === true ? {} : { state: 'dead' }),
    });
  }

  async #lettersOf(status: KeyStatus): Promise<readonly Letter[]> {
    const records = await this.#queue.readDeadLetters(status.key);
    return records.map((record) => toLetter(record, status));
  }
}

/** An id names its key, so no other key is looked at; undefined when it is no id. */
function narrowToKey(filter: LetterFilter): LetterFilter | undefined {
  if (filter.id === undefined) return filter;
  const key = keyOfLetterId(filter.id);
  return key === undefined ? undefined : { ...filter, key };
}

function isStored(
  outcome: AppendOutcome | undefined,
): outcome is Extract<AppendOutcome, { status: 'queued' | 'duplicate' }> {
  return outcome?.status === 'queued' || outcome?.status === 'duplicate';
}

/** The drain has committed behind our back. */
function isOvertaken(error: unknown): error is MillraceError {
  return positionRegression.is(error) || commitConflict.is(error);
}
