import { createHash } from 'node:crypto';
import {
  assert,
  canonicalJson,
  isMillraceError,
  messageOf,
  type Chance,
  type Clock,
  type JsonValue,
} from '#base';
import type { AuditRow, BegunOperation, KnownOperation, OperationRows, RunWith } from '#control';
import { daemonNoticed, opsAudited } from '#signals';
import { answerNotKept, idempotencyConflict, operationInFlight, operationsFull } from './errors.ts';
import { auditInput } from './daemon/audit-input.ts';

/** One act that changes something, as its verb and its caller tell it. */
export interface Act<T> {
  readonly verb: string;
  readonly principal: string;
  /** JSON values; undefined members do not count. */
  readonly input: Readonly<Record<string, unknown>>;
  /** `Idempotency-Key` of the caller. */
  readonly key: string | undefined;
  /** Ends a wait for another run under the same key; never the act. */
  readonly signal: AbortSignal;
  /** Members of the input that the audit keeps as digests only. */
  readonly hiddenInput?: readonly string[];
  /** The answer holds a secret: it is kept in memory for some minutes and never on disk (ING-018). */
  readonly isAnswerSecret?: boolean;
  /** How many things a run touched. */
  countOf?(answer: T): number;
  /** Given the id of the operation, the same one in each run under one key (C25). */
  run(operationId: string): Promise<T>;
}

export interface Done<T> {
  readonly operationId: string;
  readonly answer: T;
  /** The answer of an earlier run under the same key; nothing was done now. */
  readonly isReplayed: boolean;
}

/**
 * Acts of operators, each at most once per key (ING-014, ING-916). An act that is done is answered again from its record; one that was
 * refused, failed or was cut off by a crash runs again under the same id, so its verb must bear to be repeated (C25).
 */
export interface Operations {
  /**
   * Runs an act with its audit. Rejects as the act does, or with IDEMPOTENCY_CONFLICT (the key names another request), OPERATION_IN_FLIGHT and
   * OPERATIONS_FULL (`retry`), ANSWER_NOT_KEPT, CONTROL_UNAVAILABLE (nothing was done).
   */
  run<T>(act: Act<T>): Promise<Done<T>>;
  /** The end of an act that outlived its request: one more run of it in the audit. */
  record(run: RecordedRun): void;
  /** The last run that was done or cut off, and no dry run, with this member of its input. */
  last(which: RunWith): AuditRow | undefined;
  /** The audit, newest first, before run `before` where it is given. */
  audit(page: { readonly limit: number; readonly before?: number }): readonly AuditRow[];
}

/** What a long act came to, under the id of the operation that began it. */
export interface RecordedRun {
  readonly operationId: string;
  readonly verb: string;
  readonly principal: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly outcome: string;
  readonly count: number;
}

export interface OperationsOptions {
  readonly rows: OperationRows;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** A second request under a key waits so long for the first; shorter than the time-outs of known clients. */
const waitMsMax = 5000;
/** Answers with secrets, in memory: time for a client to ask again after a broken connection. */
const secretMs = 10 * 60_000;
const secretsMax = 100;

export function createOperations(options: OperationsOptions): Operations {
  options.rows.interrupt();
  return new RecordedOperations(options);
}

class RecordedOperations implements Operations {
  readonly #rows: OperationRows;
  readonly #clock: Clock;
  readonly #chance: Chance;
  /** Runs under a key, until they end; they never reject. */
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #secrets = new Map<string, unknown>();

  constructor({ rows, clock, chance }: OperationsOptions) {
    this.#rows = rows;
    this.#clock = clock;
    this.#chance = chance;
  }

  audit(page: { readonly limit: number; readonly before?: number }): readonly AuditRow[] {
    return this.#rows.list(page);
  }

  last(which: RunWith): AuditRow | undefined {
    return this.#rows.last(which);
  }

  record({ operationId, verb, principal, input, outcome, count }: RecordedRun): void {
    const begun = this.#rows.begin({
      operationId,
      verb,
      principal,
      input: JSON.stringify(auditInput(input, [])),
    });
    if (begun !== undefined) this.#end(begun, outcome, count, undefined);
    opsAudited.publish(() => ({
      operation_id: operationId,
      verb,
      principal,
      input,
      outcome,
      count,
    }));
  }

  async run<T>(act: Act<T>): Promise<Done<T>> {
    const { key, verb, principal } = act;
    if (key === undefined) return this.#runOnce(act, undefined);
    const request = { text: key, requestSha256: digestOf(act.input) };
    const slot = JSON.stringify([principal, verb, key]);
    for (;;) {
      const known = this.#rows.find(verb, principal, key);
      if (known !== undefined && known.requestSha256 !== request.requestSha256)
        throw idempotencyConflict({ key, operation_id: known.operationId });
      if (known?.isDone === true) return this.#replay<T>(known);
      const before = this.#inFlight.get(slot);
      if (before === undefined) break;
      await this.#settled(before, act);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inFlight.set(slot, promise);
    try {
      return await this.#runOnce(act, request);
    } finally {
      this.#inFlight.delete(slot);
      resolve();
    }
  }

  async #runOnce<T>(
    act: Act<T>,
    key: { readonly text: string; readonly requestSha256: string } | undefined,
  ): Promise<Done<T>> {
    const { verb, principal } = act;
    const input = auditInput(act.input, act.hiddenInput ?? []);
    const begun = this.#rows.begin({
      operationId: this.#chance.uuid(),
      verb,
      principal,
      input: JSON.stringify(input),
      ...(key === undefined ? {} : { key }),
    });
    if (begun === undefined) throw operationsFull({});
    const tell = (outcome: string, count: number | null): void =>
      opsAudited.publish(() => ({
        operation_id: begun.operationId,
        verb,
        principal,
        input,
        outcome,
        count,
      }));
    try {
      const answer = await act.run(begun.operationId);
      const count = act.countOf?.(answer) ?? null;
      this.#end(
        begun,
        'done',
        count,
        key === undefined ? undefined : this.#kept(act, begun, answer),
      );
      tell('done', count);
      return { operationId: begun.operationId, answer, isReplayed: false };
    } catch (error) {
      const outcome = isMillraceError(error) ? error.code : 'BUG';
      this.#end(begun, outcome, null, undefined);
      tell(outcome, null);
      throw error;
    }
  }

  /** What has been done is answered even if its end cannot be written down; a run that follows under the key is the same operation. */
  #end(
    { run, operationId }: BegunOperation,
    outcome: string,
    count: number | null,
    answer: string | null | undefined,
  ): void {
    try {
      this.#rows.end({ run, outcome, count, ...(answer === undefined ? {} : { answer }) });
    } catch (error) {
      daemonNoticed.publish(() => ({
        code: 'AUDIT_INCOMPLETE',
        message: `operation ${operationId} ended (${outcome}), the audit does not say so: ${messageOf(error)}`,
      }));
    }
  }

  #kept<T>(act: Act<T>, { operationId }: BegunOperation, answer: T): string | null {
    if (act.isAnswerSecret !== true) return JSON.stringify(answer);
    const [oldest] = this.#secrets.keys();
    if (this.#secrets.size >= secretsMax && oldest !== undefined) this.#secrets.delete(oldest);
    this.#secrets.set(operationId, answer);
    this.#clock.after(secretMs, () => this.#secrets.delete(operationId));
    return null;
  }

  #replay<T>({ operationId, answer: text }: KnownOperation): Done<T> {
    const answer = text === null ? this.#secrets.get(operationId) : (JSON.parse(text) as unknown);
    if (answer === undefined) throw answerNotKept({ operation_id: operationId });
    return { operationId, answer: answer as T, isReplayed: true };
  }

  async #settled(before: Promise<void>, { key, signal }: Act<unknown>): Promise<void> {
    assert(key !== undefined, 'only runs under a key wait for each other');
    const patience = new AbortController();
    const timer = this.#clock.after(waitMsMax, () => patience.abort(operationInFlight({ key })));
    const either = AbortSignal.any([signal, patience.signal]);
    const gaveUp = Promise.withResolvers<never>();
    const giveUp = (): void => gaveUp.reject(either.reason as Error);
    either.addEventListener('abort', giveUp, { once: true });
    try {
      if (either.aborted) giveUp();
      await Promise.race([before, gaveUp.promise]);
    } finally {
      timer.cancel();
      either.removeEventListener('abort', giveUp);
    }
  }
}

/** Of the request as JSON values: member order and white space do not count. */
function digestOf(input: Readonly<Record<string, unknown>>): string {
  const value = JSON.parse(JSON.stringify(input)) as JsonValue;
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
