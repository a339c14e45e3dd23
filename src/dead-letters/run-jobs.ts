import { assert, backoffMs, isMillraceError, messageOf, type Chance, type Clock } from '#base';
import type { JobItem, JobResult, JobRow, JobRows } from '#control';
import { failpoint } from '#disk';
import { daemonNoticed } from '#signals';
import type { Key } from '#record';
import type { DeadLetters, LetterFilter, LetterOutcome } from './dead-letters.ts';
import { jobsFull, jobState, jobUnknown, selectionChanged } from './errors.ts';
import type { JobSettings, JobView, LetterJobs, LettersOrder } from './jobs.ts';
import { keyOfLetterId } from './letter-page.ts';
import { selectLetters } from './select-letters.ts';

/** What the audit is told when a job ends (ING-916). */
export interface JobEnd {
  readonly operationId: string;
  readonly kind: string;
  readonly principal: string;
  readonly outcome: 'done' | 'cancelled';
  readonly counts: Readonly<Record<string, number>>;
}

export interface JobNeeds {
  readonly rows: JobRows;
  readonly letters: DeadLetters;
  readonly clock: Clock;
  readonly chance: Chance;
  audit(end: JobEnd): void;
}

/** Jobs at work, those that are paused too. */
const jobsMax = 20;
/** Letters of one step, whose results are one transaction; a crash repeats one step at most, and each of its letters is found settled. */
const lettersPerStep = 100;
const retries = { baseMs: 500, maxMs: 30_000 };

interface Running {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  waitingFor: JobView['waitingFor'];
}

export function createLetterJobs(needs: JobNeeds): LetterJobs {
  return new DurableJobs(needs);
}

class DurableJobs implements LetterJobs {
  readonly #needs: JobNeeds;
  readonly #running = new Map<string, Running>();
  #isStopping = false;

  constructor(needs: JobNeeds) {
    this.#needs = needs;
  }

  start(): void {
    const { rows } = this.#needs;
    rows.abandon();
    for (const { id, state } of rows.open()) if (state === 'running') this.#run(id, true);
  }

  async begin(order: LettersOrder): Promise<JobView> {
    const { rows, letters } = this.#needs;
    const { id, kind, principal, filter, confirm } = order;
    const known = rows.find(id);
    if (known !== undefined && known.state !== 'selecting') return this.#view(known);
    if (rows.open().length >= jobsMax) throw jobsFull({ max: jobsMax });
    const { visibleWorkspaces, ...asked } = filter;
    const settings: JobSettings = settingsOf(order);
    rows.begin({
      id,
      kind,
      principal,
      workspaces: visibleWorkspaces === undefined ? null : JSON.stringify(visibleWorkspaces),
      selection: JSON.stringify(shownFilter(asked)),
      settings: JSON.stringify(settings),
    });
    const selection = await selectLetters(letters, filter, (ids) => rows.add(id, ids));
    if (confirm !== undefined && confirm !== selection.confirm)
      throw selectionChanged({ count: selection.count });
    await failpoint('jobs:after-selection');
    const job = rows.ready(id);
    this.#run(id);
    return this.#view(job);
  }

  find(id: string): JobView | undefined {
    const row = this.#needs.rows.find(id);
    return row === undefined || row.state === 'selecting' ? undefined : this.#view(row);
  }

  list(page: { readonly limit: number; readonly before?: number }): readonly JobView[] {
    return this.#needs.rows.list(page).map((row) => this.#view(row));
  }

  items(
    id: string,
    page: { readonly limit: number; readonly after?: number; readonly result?: string },
  ): readonly JobItem[] {
    this.#known(id);
    return this.#needs.rows.items(id, page);
  }

  open(): number {
    return this.#needs.rows.open().length;
  }

  cancel(id: string): JobView {
    this.#move(id, 'cancelled');
    const running = this.#running.get(id);
    running?.abort.abort();
    // The step that is under way ends first, and counts.
    void (running?.ended ?? Promise.resolve()).then(() => this.#tell(this.#known(id), 'cancelled'));
    return this.#known(id);
  }

  pause(id: string): JobView {
    this.#move(id, 'paused');
    this.#running.get(id)?.abort.abort();
    return this.#known(id);
  }

  resume(id: string): JobView {
    this.#move(id, 'running');
    this.#run(id);
    return this.#known(id);
  }

  async settled(id: string, signal: AbortSignal): Promise<JobView> {
    const running = this.#running.get(id);
    if (running !== undefined) {
      const over = Promise.withResolvers<void>();
      const end = (): void => over.resolve();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      await Promise.race([running.ended, over.promise]);
      signal.removeEventListener('abort', end);
    }
    return this.#known(id);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const running = [...this.#running.values()];
    for (const { abort } of running) abort.abort();
    await Promise.all(running.map(({ ended }) => ended));
  }

  #known(id: string): JobView {
    const view = this.find(id);
    if (view === undefined) throw jobUnknown({ id });
    return view;
  }

  #move(id: string, to: 'running' | 'paused' | 'cancelled'): void {
    const { state } = this.#known(id);
    if (!this.#needs.rows.move(id, to)) throw jobState({ id, state });
  }

  #view(row: JobRow): JobView {
    return { ...row, waitingFor: this.#running.get(row.id)?.waitingFor ?? null };
  }

  /** A job that was paused a moment ago may still be in its last step: the next run waits for its end. */
  #run(id: string, isLeftBehind = false): void {
    if (this.#isStopping) return;
    const before = this.#running.get(id);
    if (before !== undefined && !before.abort.signal.aborted) return;
    const abort = new AbortController();
    const ended = (async () => {
      await before?.ended;
      await this.#carryOut(id, isLeftBehind, abort.signal);
    })()
      .catch((error: unknown) => this.#notice(id, error))
      .finally(() => {
        if (this.#running.get(id)?.abort === abort) this.#running.delete(id);
      });
    this.#running.set(id, { abort, ended, waitingFor: null });
  }

  async #carryOut(id: string, isLeftBehind: boolean, signal: AbortSignal): Promise<void> {
    const { rows, clock, chance } = this.#needs;
    let failures = 0;
    let isInDoubt = isLeftBehind;
    while (!signal.aborted) {
      try {
        const began = clock.monotonic();
        const done = await this.#step(id, isInDoubt, signal);
        failures = 0;
        isInDoubt = false;
        this.#note(id, null);
        if (done === undefined) {
          if (rows.move(id, 'done')) this.#tell(this.#known(id), 'done');
          return;
        }
        await pause(clock, began + done.paceMs - clock.monotonic(), signal);
      } catch (error) {
        if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
        failures += 1;
        this.#note(id, { code: error.code, message: error.message });
        await pause(clock, backoffMs(retries, failures, chance), signal);
      }
    }
  }

  /**
   * The next letters, those of one key in one append; undefined when none waits. In the first step of a job that a killed process left, a letter
   * that is settled since the job was made was settled by it.
   */
  async #step(
    id: string,
    isInDoubt: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly paceMs: number } | undefined> {
    const { rows } = this.#needs;
    const job = rows.find(id);
    assert(job !== undefined, `job ${id} is known`);
    const settings = JSON.parse(job.settings) as JobSettings;
    const { perSecond } = settings;
    const most =
      perSecond === undefined
        ? lettersPerStep
        : Math.max(1, Math.min(lettersPerStep, Math.floor(perSecond / 4)));
    const waiting = rows.waiting(id, most);
    if (waiting.length === 0) return undefined;
    for (const [key, items] of Map.groupBy(waiting, ({ subject }) => keyOfLetterId(subject))) {
      if (signal.aborted) break;
      assert(key !== undefined, 'a selection holds ids of letters');
      const results = await this.#settle(job, settings, key, items);
      await failpoint('jobs:after-append');
      rows.settle(
        id,
        results.map((result, at) => resultOf(items[at], result, isInDoubt ? job : undefined)),
      );
    }
    return { paceMs: perSecond === undefined ? 0 : (waiting.length * 1000) / perSecond };
  }

  async #settle(
    job: JobRow,
    settings: JobSettings,
    key: Key,
    items: readonly JobItem[],
  ): Promise<readonly LetterOutcome[]> {
    const { letters } = this.#needs;
    const ids = items.map(({ subject }) => subject);
    return job.kind === 'discard'
      ? letters.discardMany(key, ids, { principal: job.principal })
      : letters.requeueMany(key, ids, settings);
  }

  #note(id: string, waitingFor: JobView['waitingFor']): void {
    const running = this.#running.get(id);
    if (running !== undefined) running.waitingFor = waitingFor;
  }

  #tell({ id, kind, principal, counts }: JobView, outcome: JobEnd['outcome']): void {
    this.#needs.audit({ operationId: id, kind, principal, outcome, counts });
  }

  /** What is no passing trouble: the daemon stops, or a defect. The job stays as it is, and the next start goes on with it. */
  #notice(id: string, error: unknown): void {
    if (this.#isStopping) return;
    daemonNoticed.publish(() => ({
      code: 'JOB_STOPPED',
      message: `job ${id} stands still and goes on at the next start: ${messageOf(error)}`,
    }));
  }
}

function resultOf(
  waiting: JobItem | undefined,
  outcome: LetterOutcome,
  leftBehind: JobRow | undefined,
): JobResult {
  assert(waiting !== undefined, 'each letter of a step has its outcome');
  const { item } = waiting;
  const { result, before, code, message, position } = outcome;
  if (before !== undefined && leftBehind !== undefined && before.ts >= leftBehind.madeAt)
    return { item, result: before.kind, detail: JSON.stringify({ position }) };
  return { item, result, detail: JSON.stringify({ code, message, position }) };
}

function settingsOf({ perSecond, intoCurrent, reason }: LettersOrder): JobSettings {
  return {
    ...(perSecond === undefined ? {} : { perSecond }),
    ...(intoCurrent === undefined ? {} : { intoCurrent }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** A list of ids is the selection itself, which is kept beside. */
function shownFilter({ ids, ...rest }: LetterFilter): Readonly<Record<string, unknown>> {
  return ids === undefined ? rest : { ...rest, ids: ids.length };
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
