import { isJsonObject, parseJson } from '#base';
import {
  type DeadLetterRecord,
  type KeyStatus,
  type QueueBackend,
  type QueueLedger,
  deadLetterState,
  sessionQuarantined,
} from '#queue';
import { type Key, emptyCursor, parseKey, parseLine } from '#record';
import type {
  DeadLetters,
  DiscardResult,
  Letter,
  LetterActor,
  LetterFilter,
  LetterPage,
  RequeueResult,
} from './dead-letters.ts';

export interface DeadLettersOptions {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Wakes the drain of a key that got a record. */
  readonly onAppended: (key: Key) => void;
}

/** Keys looked at in one step of a listing. */
const keysPerStep = 500;
/** Letters that one discard takes; with more it says so and is called again. */
const discardMax = 1000;

export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  return new Letters(options);
}

/** `<key>:<epoch>.<start>`: no key contains a colon. */
function keyOfId(id: string): Key | undefined {
  return parseKey(id.slice(0, Math.max(0, id.indexOf(':'))));
}

class Letters implements DeadLetters {
  readonly #options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  async list(
    filter: LetterFilter,
    page: { readonly limit: number; readonly pageToken?: string },
  ): Promise<LetterPage> {
    const letters: Letter[] = [];
    for await (const letter of this.#walk(filter, page.pageToken)) {
      if (letters.length === page.limit)
        return { letters, nextPageToken: letters.at(-1)?.id ?? '' };
      letters.push(letter);
    }
    return { letters };
  }

  async show(id: string): Promise<Letter | undefined> {
    const key = keyOfId(id);
    const status = key === undefined ? undefined : await this.#options.ledger.keyStatus(key);
    if (status === undefined) return undefined;
    const record = (await this.#options.queue.readDeadLetters(status.key)).find(
      (letter) => letter.id === id,
    );
    return record === undefined ? undefined : letterOf(status, record);
  }

  async requeue(id: string, actor: LetterActor): Promise<RequeueResult> {
    const letter = await this.show(id);
    if (letter === undefined) throw deadLetterState({ id, outcome: 'unknown' });
    return this.#requeue(letter, actor);
  }

  async requeueKey(key: Key, actor: LetterActor): ReturnType<DeadLetters['requeueKey']> {
    const status = await this.#options.ledger.keyStatus(key);
    const requeued: RequeueResult[] = [];
    for (const record of status === undefined
      ? []
      : await this.#options.queue.readDeadLetters(key)) {
      if (status === undefined || record.outcome.kind !== 'live' || record.isRetired) continue;
      requeued.push(await this.#requeue(letterOf(status, record), actor));
    }
    return { key, requeued };
  }

  async discard(
    filter: LetterFilter,
    actor: LetterActor,
    options: { readonly isDryRun: boolean },
  ): Promise<DiscardResult> {
    const found: Letter[] = [];
    let hasMore = false;
    for await (const letter of this.#walk({ ...filter, withRetired: false }, undefined)) {
      if (found.length === discardMax) {
        hasMore = true;
        break;
      }
      found.push(letter);
    }
    if (!options.isDryRun) for (const letter of found) await this.#discard(letter, actor);
    return {
      isDryRun: options.isDryRun,
      ids: found.map(({ id }) => id),
      count: found.length,
      hasMore,
    };
  }

  /** A requeue is a new append that settles the letter in one frame; it keeps the event id, else gets one of its own (ING-714). */
  async #requeue(letter: Letter, actor: LetterActor): Promise<RequeueResult> {
    if (letter.outcome.kind !== 'live')
      throw deadLetterState({ id: letter.id, outcome: letter.outcome.kind });
    const { record } = parseLine(letter.payload, letter.key);
    const [outcome] = await this.#options.queue.append([
      {
        key: letter.key,
        workspace: letter.workspace,
        session: letter.session,
        raw: letter.payload,
        eventId: letter.eventId ?? `requeue:${letter.id.slice(letter.key.length + 1)}`,
        isDerivedId: record?.isDerivedId === true,
        principal: actor.principal,
        mayWriteForeign: true,
        settles: letter.id,
      },
    ]);
    if (outcome === undefined || (outcome.status !== 'queued' && outcome.status !== 'duplicate'))
      throw deadLetterState({ id: letter.id, outcome: outcome?.status ?? 'lost' });
    this.#options.onAppended(letter.key);
    return {
      id: letter.id,
      key: letter.key,
      status: outcome.status,
      epoch: outcome.epoch,
      position: outcome.position,
    };
  }

  /** Position and cursor stay as they are; a commit in between has moved them, and the act is done again with the new ones. */
  async #discard(letter: Letter, actor: LetterActor): Promise<void> {
    const { queue, ledger } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const status = await ledger.keyStatus(letter.key);
      if (status === undefined) throw deadLetterState({ id: letter.id, outcome: 'unknown' });
      if (status.quarantine !== null)
        throw sessionQuarantined({ keys: [letter.key], reason: status.quarantine.code });
      const cursor = (await queue.readCursor(letter.key)) ?? emptyCursor();
      try {
        await queue.deadLetter(
          letter.key,
          [{ discarded: letter.id, by: actor.principal }],
          status.committed,
          cursor,
        );
        return;
      } catch (error) {
        if (!isMoved(error) || attempt >= 20) throw error;
      }
    }
  }

  async *#walk(filter: LetterFilter, pageToken: string | undefined): AsyncGenerator<Letter> {
    for await (const status of this.#keys(filter, pageToken)) {
      if (filter.withRetired !== true && status.dead === 0) continue;
      if (
        filter.visibleWorkspaces !== undefined &&
        !filter.visibleWorkspaces.includes(status.workspace)
      )
        continue;
      let isPast = pageToken === undefined || keyOfId(pageToken) !== status.key;
      for (const record of await this.#options.queue.readDeadLetters(status.key)) {
        if (isPast && matches(filter, record)) {
          const letter = letterOf(status, record);
          if (filter.event === undefined || letter.event === filter.event) yield letter;
        }
        if (record.id === pageToken) isPast = true;
      }
    }
  }

  /** Keys in order, from the one that the page token stopped in. */
  async *#keys(filter: LetterFilter, pageToken: string | undefined): AsyncGenerator<KeyStatus> {
    const { ledger } = this.#options;
    const only = filter.key ?? (filter.id === undefined ? undefined : keyOfId(filter.id));
    if (only !== undefined) {
      const status = await ledger.keyStatus(only);
      if (status !== undefined) yield status;
      return;
    }
    let after = pageToken === undefined ? undefined : keyOfId(pageToken);
    const first = after === undefined ? undefined : await ledger.keyStatus(after);
    if (first !== undefined) yield first;
    for (;;) {
      const step = await ledger.listKeys({
        limit: keysPerStep,
        ...(after === undefined ? {} : { afterKey: after }),
        ...(filter.session === undefined ? {} : { session: filter.session }),
        ...(filter.workspace === undefined ? {} : { workspace: filter.workspace }),
      });
      yield* step;
      after = step.at(-1)?.key;
      if (step.length < keysPerStep) return;
    }
  }
}

function isMoved(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'POSITION_REGRESSION' || code === 'COMMIT_CONFLICT';
}

function matches(filter: LetterFilter, record: DeadLetterRecord): boolean {
  if (filter.id !== undefined && record.id !== filter.id) return false;
  if (filter.code !== undefined && record.error.code !== filter.code) return false;
  if (filter.since !== undefined && record.ts < filter.since) return false;
  return filter.withRetired === true || (!record.isRetired && record.outcome.kind === 'live');
}

function letterOf(status: KeyStatus, record: DeadLetterRecord): Letter {
  return {
    ...record,
    workspace: status.workspace,
    session: status.session,
    event: eventOf(record.payload),
  };
}

/** A letter's bytes may be anything; its event name is for people only. */
function eventOf(payload: Uint8Array): string | undefined {
  try {
    const line = parseJson(payload);
    const name = isJsonObject(line) ? line['ev'] : undefined;
    return typeof name === 'string' ? name : undefined;
  } catch {
    // Bytes that are no JSON have no event name; the letter shows them as they are.
    return undefined;
  }
}
