import { localPrincipal, scopes, type Principal } from '#access';
import { isMillraceError } from '#base';
import { failpoint } from '#disk';
import { batchTooLarge, type IngestAnswer, type RecordOutcome } from '#ingest';
import { importStalled } from './errors.ts';
import type { ImportNeeds } from './import-report.ts';

/** An event on its way in, with whatever its caller wants to know it by. */
export interface Outgoing<T> {
  readonly body: string;
  readonly by: string | undefined;
  readonly source: T;
}

/** Large enough to share a sync, small enough to repeat cheaply. */
const batchEventsMax = 500;
const batchBytesMax = 1024 * 1024;
/** Passing trouble, such as a full queue that drains, is waited for this long as long as nothing moves. */
const patienceMs = 120_000;
const firstDelayMs = 50;
const delayMsMax = 2000;

/** Events of one sender in a row, admitted like those of any client; told per event, in order. */
export class BatchSender<T> {
  readonly #needs: ImportNeeds;
  readonly #onOutcome: (source: T, outcome: RecordOutcome) => void;
  #waiting: Outgoing<T>[] = [];
  #bytes = 0;

  constructor(needs: ImportNeeds, onOutcome: (source: T, outcome: RecordOutcome) => void) {
    this.#needs = needs;
    this.#onOutcome = onOutcome;
  }

  async add(event: Outgoing<T>): Promise<void> {
    if (this.#waiting.length > 0 && this.#waiting[0]?.by !== event.by) await this.flush();
    this.#waiting.push(event);
    this.#bytes += event.body.length;
    if (this.#waiting.length >= batchEventsMax || this.#bytes >= batchBytesMax) await this.flush();
  }

  async flush(): Promise<void> {
    const batch = this.#waiting;
    [this.#waiting, this.#bytes] = [[], 0];
    if (batch.length > 0) await this.#send(batch);
  }

  async #send(batch: readonly Outgoing<T>[]): Promise<void> {
    let answer: IngestAnswer;
    try {
      answer = await this.#accept(batch);
    } catch (error) {
      if (!batchTooLarge.is(error) || batch.length === 1) throw error;
      const middle = Math.ceil(batch.length / 2);
      await this.#send(batch.slice(0, middle));
      await this.#send(batch.slice(middle));
      return;
    }
    await failpoint('import:batch-accepted');
    for (const [at, { source }] of batch.entries()) {
      const outcome = answer.outcomes[at];
      if (outcome !== undefined) this.#onOutcome(source, outcome);
    }
  }

  /** Again and again while the trouble may pass (D13): all or nothing each time, so that a repeat adds nothing. */
  async #accept(batch: readonly Outgoing<T>[]): Promise<IngestAnswer> {
    const { clock, ingest, ledger } = this.#needs;
    const body = Buffer.from(batch.map((event) => event.body).join('\n'), 'utf8');
    const principal = principalOf(batch[0]?.by);
    let delayMs = firstDelayMs;
    let movedAt = clock.monotonic();
    let pending = ledger.totals().pending;
    for (;;) {
      try {
        return await ingest.accept({ body, form: 'ndjson', principal });
      } catch (error) {
        if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
        const now = ledger.totals().pending;
        if (now !== pending) movedAt = clock.monotonic();
        pending = now;
        if (clock.monotonic() - movedAt > patienceMs)
          throw importStalled({ reason: error.message, pending }, error);
      }
      await clock.sleep(delayMs);
      delayMs = Math.min(delayMs * 2, delayMsMax);
    }
  }
}

/** Who runs the import owns the root, so records keep the sender that the predecessor had proved, whoever began the session. */
function principalOf(by: string | undefined): Principal {
  return { name: by ?? localPrincipal.name, scopes: new Set(scopes), workspaces: undefined };
}
