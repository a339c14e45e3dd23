import { join } from 'node:path';
import { assert } from '#base';
import { failpoint } from '#disk';
import { createTranslator, type SourceLine } from '#formats';
import type { BatchItem, DeadLetterInput } from '#queue';
import { emptyCursor, type Key, type Position } from '#record';
import { legacyDeadLetter } from './errors.ts';
import { IdForgetter, identityOf, letterBytesMax, refusedLine } from './import-log.ts';
import type { ImportNeeds, ImportOptions, SessionReport } from './import-report.ts';
import { readLegacyLetter, readLegacyLine, type LegacyLetter } from './read-line.ts';
import { readSource } from './read-source.ts';
import { BatchSender } from './send-batch.ts';
import type { LegacySession } from './sort-folder.ts';

/** Letters that become durable as one commit. */
const lettersPerCommit = 200;
/** Rejects of letters carry the code of what is wrong with the line itself. */
const letterInvalid = 'LETTER_INVALID';

interface TakenLetter {
  readonly key: Key;
  readonly letter: LegacyLetter;
  readonly line: SourceLine;
  readonly file: string;
}

/**
 * Takes the dead letters of one session in as dead letters, with their reason. Each is a record of the log first, as every letter is, and is
 * committed as dead in the same breath; the drain stands still meanwhile. A process that is killed between the two leaves a record that waits.
 */
export async function importLetters(
  needs: ImportNeeds,
  options: ImportOptions,
  session: LegacySession,
  report: SessionReport,
): Promise<void> {
  const translator = createTranslator({ workspace: options.workspace });
  const run = new LetterRun(needs, options, report);
  for (const file of [...session.retired, ...(session.dead === undefined ? [] : [session.dead])]) {
    const path = join(options.folder, file);
    for await (const line of readSource(needs.disk, path, letterBytesMax(needs))) {
      if (!line.isTooLong && line.bytes.every((byte) => byte === 0x20)) continue;
      report.letters += 1;
      const letter = line.isTooLong ? undefined : readLegacyLetter(line.bytes);
      if (letter === undefined) {
        run.refuse(file, line, letterInvalid, 'the line is no dead letter');
        continue;
      }
      const read = readLegacyLine(letter.payload, translator);
      const identity = read.kind === 'event' ? identityOf(read, needs) : undefined;
      if (read.kind === 'event' && identity !== undefined) {
        const { key, eventId } = identity;
        await run.add(read, eventId, { key, letter, line, file });
      } else {
        const reason = read.kind === 'reject' ? read.message : 'its payload is no valid event';
        run.refuse(file, line, letterInvalid, `${reason}; the reason was: ${letter.error}`);
      }
    }
  }
  await run.flush();
}

type Event = Extract<ReturnType<typeof readLegacyLine>, { kind: 'event' }>;

/** Letters of one key in a row, on their way in. */
class LetterRun {
  readonly #needs: ImportNeeds;
  readonly #options: ImportOptions;
  readonly #report: SessionReport;
  #key: Key | undefined;
  #canTake = false;
  #known = new Set<string>();
  #events: { readonly event: Event; readonly taken: TakenLetter }[] = [];

  constructor(needs: ImportNeeds, options: ImportOptions, report: SessionReport) {
    this.#needs = needs;
    this.#options = options;
    this.#report = report;
  }

  refuse(file: string, line: SourceLine, code: string, message: string): void {
    this.#report.refused += 1;
    this.#options.onRefused(refusedLine(file, line, code, message));
  }

  async add(event: Event, eventId: string | undefined, taken: TakenLetter): Promise<void> {
    if (taken.key !== this.#key) {
      await this.flush();
      await this.#begin(taken.key);
    }
    if (!this.#canTake) this.#report.letters_waiting += 1;
    // A second import, or a second letter of one event.
    else if (eventId !== undefined && this.#known.has(eventId)) this.#report.letters_known += 1;
    else {
      if (eventId !== undefined) this.#known.add(eventId);
      this.#events.push({ event, taken });
      if (this.#events.length >= lettersPerCommit) await this.flush();
    }
  }

  async #begin(key: Key): Promise<void> {
    const { ledger, queue } = this.#needs;
    const status = await ledger.keyStatus(key);
    this.#key = key;
    this.#canTake = status === undefined || (status.pending === 0 && status.quarantine === null);
    const letters = status === undefined ? [] : await queue.readDeadLetters(key);
    const ids = this.#options.doesResetDedup === true ? [] : letters.map(({ eventId }) => eventId);
    this.#known = new Set(ids.filter((id) => id !== undefined));
  }

  /** Appends what has gathered and commits it as dead. */
  async flush(): Promise<void> {
    const events = this.#events;
    this.#events = [];
    const key = this.#key;
    if (key === undefined || events.length === 0) return;
    if (this.#options.doesResetDedup === true) {
      const forgetting = new IdForgetter(this.#needs);
      for (const { event } of events) await forgetting.add(event);
      await forgetting.flush();
    }
    const letters = new Map<Position, LegacyLetter>();
    const sender = new BatchSender<TakenLetter>(this.#needs, ({ letter, line, file }, outcome) => {
      if (outcome.status === 'rejected')
        this.refuse(file, line, outcome.reject.code, outcome.reject.message);
      else if (outcome.status === 'queued') letters.set(outcome.position, letter);
      // Its event is in the log: it was sent again, or requeued by the predecessor.
      else this.#report.letters_known += 1;
    });
    for (const { event, taken } of events) await sender.add({ ...event, source: taken });
    await sender.flush();
    await failpoint('import:letters-appended');
    await this.#commitDead(key, letters);
  }

  async #commitDead(key: Key, letters: ReadonlyMap<Position, LegacyLetter>): Promise<void> {
    const { queue } = this.#needs;
    for (let left = letters.size; left > 0;) {
      const { items } = await queue.readBatch(key, {
        records: left,
        bytes: Number.MAX_SAFE_INTEGER,
      });
      const last = items.at(-1);
      assert(last !== undefined, 'what was just appended waits, since the drain stands still');
      const inputs = items.map((item) => inputOf(item, letters.get(item.at)));
      const cursor = (await queue.readCursor(key)) ?? emptyCursor();
      await queue.deadLetter(key, inputs, last.after, cursor);
      this.#report.letters_taken += items.length;
      left -= items.length;
    }
  }
}

function inputOf({ at, raw }: BatchItem, letter: LegacyLetter | undefined): DeadLetterInput {
  assert(letter !== undefined, 'nobody else appends while the root lock is held');
  const { message } = legacyDeadLetter({ error: letter.error, since: letter.since });
  // None were made here.
  return { at, raw, attempts: 0, error: { code: legacyDeadLetter.code, message } };
}
