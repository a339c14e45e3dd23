import type { KeyStatus, QueueBackend, QueueLedger } from '#queue';
import { parseKey, type Key } from '#record';
import type { Letter, LetterFilter } from './dead-letters.ts';
import { keyOfLetterId, type LetterPlace } from './letter-page.ts';
import { matchesKey, matchesLetter } from './match-letter.ts';
import { toLetter } from './to-letter.ts';

/** Keys read from the ledger at once, and looked at by one call: a page may be short, and its token goes on (P9). */
const keysPerRead = 500;
const keysPerCallMax = 20_000;

/** A key with its letters; without them when the call has looked at enough keys. */
export type KeyLetters = KeyStatus & { readonly letters: readonly Letter[] | undefined };

/** Where letters are read: of keys that may have some, and of those alone. */
export class LetterSource {
  readonly #queue: Pick<QueueBackend, 'readDeadLetters'>;
  readonly #ledger: Pick<QueueLedger, 'keyStatus' | 'listKeys'>;

  constructor(
    queue: Pick<QueueBackend, 'readDeadLetters'>,
    ledger: Pick<QueueLedger, 'keyStatus' | 'listKeys'>,
  ) {
    this.#queue = queue;
    this.#ledger = ledger;
  }

  /** All letters that a filter means, those of one key oldest first; as many keys as there are. */
  async *each(filter: LetterFilter): AsyncGenerator<Letter> {
    const { ids } = filter;
    if (ids !== undefined) {
      const keys = new Set(ids.map(keyOfLetterId).filter((key) => key !== undefined));
      for (const key of keys) yield* this.#eachOf({ ...filter, key });
      return;
    }
    yield* this.#eachOf(filter);
  }

  async *#eachOf(filter: LetterFilter): AsyncGenerator<Letter> {
    for await (const { letters } of this.keys(filter, undefined, Number.POSITIVE_INFINITY))
      for (const letter of letters ?? []) if (matchesLetter(filter, letter)) yield letter;
  }

  /** Keys that may have letters, from a place on, with their letters. */
  async *keys(
    filter: LetterFilter,
    from: LetterPlace | undefined,
    keysMax: number = keysPerCallMax,
  ): AsyncGenerator<KeyLetters> {
    if (filter.key !== undefined) {
      yield* this.#one(filter, filter.key);
      return;
    }
    const begun = from?.at === undefined ? undefined : parseKey(from.key);
    if (begun !== undefined) yield* this.#one(filter, begun);
    let looked = 0;
    let afterKey = from?.key;
    for (;;) {
      const statuses = await this.#readKeys(filter, afterKey);
      for (const status of statuses) {
        afterKey = status.key;
        looked += 1;
        if (matchesKey(filter, status)) yield { ...status, letters: await this.lettersOf(status) };
        else if (looked >= keysMax) yield { ...status, letters: undefined };
      }
      if (statuses.length < keysPerRead) return;
    }
  }

  async lettersOf(
    status: Pick<KeyStatus, 'key' | 'workspace' | 'session'>,
  ): Promise<readonly Letter[]> {
    const records = await this.#queue.readDeadLetters(status.key);
    return records.map((record) => toLetter(record, status));
  }

  /** Undefined for a key that was never seen. */
  async ofKey(
    key: Key,
  ): Promise<{ readonly status: KeyStatus; readonly letters: readonly Letter[] } | undefined> {
    const status = await this.#ledger.keyStatus(key);
    return status === undefined ? undefined : { status, letters: await this.lettersOf(status) };
  }

  async *#one(filter: LetterFilter, key: Key): AsyncGenerator<KeyLetters> {
    const status = await this.#ledger.keyStatus(key);
    if (status !== undefined && matchesKey(filter, status))
      yield { ...status, letters: await this.lettersOf(status) };
  }

  #readKeys(filter: LetterFilter, afterKey: Key | undefined): Promise<readonly KeyStatus[]> {
    const { session, workspace, withRetired } = filter;
    return this.#ledger.listKeys({
      limit: keysPerRead,
      ...(afterKey === undefined ? {} : { afterKey }),
      ...(session === undefined ? {} : { session }),
      ...(workspace === undefined ? {} : { workspace }),
      state: withRetired === true ? 'lettered' : 'dead',
    });
  }
}
