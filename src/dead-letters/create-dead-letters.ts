import { assert, type MillraceError } from '#base';
import {
  commitConflict,
  deadLetterState,
  positionRegression,
  sessionQuarantined,
  type LogNeighbours,
  type QueueBackend,
  type QueueLedger,
} from '#queue';
import { fold } from '#handlers';
import { emptyCursor, type AcceptedEvent, type Cursor, type Key } from '#record';
import type {
  DeadLetters,
  DiscardResult,
  Letter,
  LetterActor,
  LetterFilter,
  LetterOutcome,
  LetterPage,
  RequeueAllResult,
  RequeueOptions,
  RequeueResult,
  Surroundings,
} from './dead-letters.ts';
import { planEdit, type EditOrder } from './edit-letter.ts';
import { deadLetterRange, deadLetterUnknown, filterTooWide } from './errors.ts';
import { fingerprintOf, LetterGrouper, type LetterGroups } from './group-letters.ts';
import { formatPageToken, keyOfLetterId, parsePageToken, type LetterPlace } from './letter-page.ts';
import { LetterSource } from './letter-source.ts';
import { isNarrow, matchesLetter } from './match-letter.ts';
import { planRequeue, refusalOf } from './plan-requeue.ts';
import { previewFold, previewRefused, type Preview, type PreviewFold } from './preview-requeue.ts';
import { appendRequeue, refused, requeueMany, settledBefore } from './requeue-many.ts';

export interface DeadLetterDependencies {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Of a queue of log files alone; without it nothing is known of a letter's neighbours. */
  readonly neighbours?: LogNeighbours;
  /** What a preview folds with; the handlers of this program where it is not given. */
  readonly folding?: { readonly fold: PreviewFold; readonly spillBytes: number };
  /** Takes out of an edited letter what must not be stored. */
  readonly redact?: (event: AcceptedEvent) => AcceptedEvent;
  /** Tells the drain of a new record. */
  wake(key: Key): void;
}

/** Letters that one call of requeue or discard takes; more are a job. */
export const lettersPerCallMax = 1000;
/** A discard races with the drain's commits of its key; each try reads the position again. */
const discardTriesMax = 20;
/** A letter that was requeued more often is shown without its first lives. */
const historyMax = 50;
/** Of a graph that was made with the default (D30). */
const spillBytesDefault = 32 * 1024;

export function createDeadLetters(dependencies: DeadLetterDependencies): DeadLetters {
  return new QueueDeadLetters(dependencies);
}

class QueueDeadLetters implements DeadLetters {
  readonly #needs: DeadLetterDependencies;
  readonly #folding: { readonly fold: PreviewFold; readonly spillBytes: number };
  readonly #source: LetterSource;

  constructor(needs: DeadLetterDependencies) {
    this.#needs = needs;
    this.#folding = needs.folding ?? { fold, spillBytes: spillBytesDefault };
    this.#source = new LetterSource(needs.queue, needs.ledger);
  }

  async list(
    filter: LetterFilter,
    page: { readonly limit: number; readonly pageToken?: string },
  ): Promise<LetterPage> {
    const from = page.pageToken === undefined ? undefined : parsePageToken(page.pageToken);
    const letters: Letter[] = [];
    let place: LetterPlace | undefined;
    for await (const status of this.#source.keys(filter, from)) {
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

  each(filter: LetterFilter): AsyncIterable<Letter> {
    return this.#source.each(filter);
  }

  async groups(filter: LetterFilter): Promise<LetterGroups> {
    const grouper = new LetterGrouper();
    for await (const letter of this.#source.each(filter)) grouper.add(letter);
    return grouper.end();
  }

  groupOf(letter: Letter): string {
    return fingerprintOf(letter);
  }

  async show(id: string): Promise<Letter | undefined> {
    const key = keyOfLetterId(id);
    const known = key === undefined ? undefined : await this.#source.ofKey(key);
    return known?.letters.find((letter) => letter.id === id);
  }

  async history(letter: Letter): Promise<readonly Letter[]> {
    const letters = (await this.#source.ofKey(letter.key))?.letters ?? [];
    const lives = [letter];
    for (let first = letter; lives.length < historyMax;) {
      const before = letters.find(
        ({ outcome }) => outcome.kind === 'requeued' && outcome.position === first.at,
      );
      if (before === undefined) break;
      lives.unshift(before);
      first = before;
    }
    for (let last = letter; lives.length < historyMax;) {
      const { outcome } = last;
      const next =
        outcome.kind === 'requeued' ? letters.find(({ at }) => at === outcome.position) : undefined;
      if (next === undefined) break;
      lives.push(next);
      last = next;
    }
    return lives;
  }

  async surroundings({ key, at }: Letter, count: number): Promise<Surroundings | undefined> {
    return this.#needs.neighbours?.neighbours(key, at, count);
  }

  async preview(
    letters: readonly Letter[],
    options: RequeueOptions = {},
  ): Promise<readonly Preview[]> {
    const previews: Preview[] = [];
    const cursors = new Map<Key, Cursor>();
    for (const letter of letters) {
      const refusal = await this.#refusal(letter, options);
      const raw = planRequeue(letter)?.raw;
      if (refusal !== undefined || raw === undefined) {
        const { id, records = 1 } = letter;
        previews.push(previewRefused(letter, refusal ?? deadLetterRange({ id, records })));
        continue;
      }
      const cursor = cursors.get(letter.key) ?? (await this.#cursorOf(letter.key));
      const folded = previewFold(letter, raw, cursor, this.#folding);
      cursors.set(letter.key, folded.cursor);
      previews.push(folded.preview);
    }
    return previews;
  }

  async previewEdit(id: string, order: EditOrder): Promise<Preview> {
    const letter = await this.#known(id);
    const refusal = await this.#refusal(letter, order);
    if (refusal !== undefined) return previewRefused(letter, refusal);
    const { raw } = planEdit(letter, order, this.#needs.redact);
    return previewFold(letter, raw, await this.#cursorOf(letter.key), this.#folding).preview;
  }

  async edit(id: string, order: EditOrder): Promise<RequeueResult> {
    const letter = await this.#known(id);
    const refusal = await this.#refusal(letter, order);
    if (refusal !== undefined) throw refusal;
    return this.#append(letter, planEdit(letter, order, this.#needs.redact));
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<RequeueResult> {
    const letter = await this.#known(id);
    const refusal = await this.#refusal(letter, options);
    if (refusal !== undefined) throw refusal;
    return this.#append(letter, planRequeue(letter));
  }

  async requeueKey(key: Key): Promise<RequeueAllResult> {
    const known = await this.#source.ofKey(key);
    const live = (known?.letters ?? []).filter(({ outcome }) => outcome.kind === 'live');
    const quarantine = known?.status.quarantine ?? null;
    if (live.length > 0 && quarantine !== null)
      throw sessionQuarantined({ keys: [key], reason: quarantine.code });
    const ids = live.slice(0, lettersPerCallMax).map(({ id }) => id);
    const outcomes = ids.length === 0 ? [] : await this.requeueMany(key, ids);
    // What somebody else has settled meanwhile is left out, and so is a range, which is no record and stays.
    const requeued = outcomes.flatMap(({ id, stored }) =>
      stored === undefined ? [] : [{ id, key, ...stored }],
    );
    return { key, requeued, hasMore: live.length > lettersPerCallMax };
  }

  async requeueMany(
    key: Key,
    ids: readonly string[],
    options: RequeueOptions = {},
  ): Promise<readonly LetterOutcome[]> {
    const outcomes = await requeueMany(this.#needs.queue, this.#source, { key, ids, options });
    this.#needs.wake(key);
    return outcomes;
  }

  async discardMany(
    key: Key,
    ids: readonly string[],
    { principal }: LetterActor,
  ): Promise<readonly LetterOutcome[]> {
    const letters = new Map(
      ((await this.#source.ofKey(key))?.letters ?? []).map((letter) => [letter.id, letter]),
    );
    const live = ids.filter((id) => letters.get(id)?.outcome.kind === 'live');
    if (live.length > 0) await this.#discardOf(key, live, principal);
    return ids.map((id): LetterOutcome => {
      const letter = letters.get(id);
      if (letter === undefined) return refused(id, deadLetterUnknown({ id }));
      return letter.outcome.kind === 'live' ? { id, result: 'discarded' } : settledBefore(letter);
    });
  }

  async discard(
    filter: LetterFilter,
    actor: LetterActor,
    options: { readonly isDryRun: boolean },
  ): Promise<DiscardResult> {
    const { isDryRun } = options;
    if (!isNarrow(filter)) throw filterTooWide({});
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

  async #append(letter: Letter, input: ReturnType<typeof planRequeue>): Promise<RequeueResult> {
    const result = await appendRequeue(this.#needs.queue, letter, input);
    this.#needs.wake(letter.key);
    return result;
  }

  async #known(id: string): Promise<Letter> {
    const letter = await this.show(id);
    if (letter === undefined) throw deadLetterUnknown({ id });
    return letter;
  }

  async #refusal(letter: Letter, options: RequeueOptions): Promise<MillraceError | undefined> {
    return refusalOf(letter, await this.#needs.ledger.keyStatus(letter.key), options);
  }

  async #cursorOf(key: Key): Promise<Cursor> {
    return (await this.#needs.queue.readCursor(key)) ?? emptyCursor();
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
    const { queue, ledger } = this.#needs;
    const letters = ids.map((discarded) => ({ discarded, by }));
    for (let attempt = 1; ; attempt += 1) {
      // The position first: a commit in between makes the cursor newer than it, and is refused; the other way round would pass.
      const status = await ledger.keyStatus(key);
      const cursor = await queue.readCursor(key);
      assert(status !== undefined && cursor !== null, `a key with letters was committed: ${key}`);
      try {
        return await queue.deadLetter(key, letters, status.committed, cursor);
      } catch (error) {
        if (!isOvertaken(error) || attempt >= discardTriesMax) throw error;
      }
    }
  }
}

/** An id names its key, so no other key is looked at; undefined when it is no id. */
function narrowToKey(filter: LetterFilter): LetterFilter | undefined {
  if (filter.id === undefined) return filter;
  const key = keyOfLetterId(filter.id);
  return key === undefined ? undefined : { ...filter, key };
}

/** The drain has committed behind our back. */
function isOvertaken(error: unknown): error is MillraceError {
  return positionRegression.is(error) || commitConflict.is(error);
}
