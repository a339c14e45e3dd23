import { isMillraceError, messageOf, type Clock, type Timer } from '#base';
import type { NoticeRows } from '#control';
import { daemonNoticed, retentionTaken } from '#signals';
import { noneWaiting, type PartReport, type WaitingItems } from './part-report.ts';
import { planPass, type KeptItem, type PassPlan, type PlannedItem } from './plan-pass.ts';
import { isInLine, isSet, nameOfRule, ruleNoticeMs } from './rule.ts';
import type { RetainedItem, RetainedPart, RetentionRule, Shelf, ShelfLook } from './shelf.ts';

export interface RetentionNeeds {
  readonly shelves: readonly Shelf[];
  /** The rule in force; read at each pass. */
  ruleOf(part: RetainedPart): RetentionRule;
  readonly notices: Pick<NoticeRows, 'firstTold'>;
  readonly clock: Clock;
  /** Why nothing may go now: somebody reads all stores as of one instant. A pass goes on with the next one; who acts by hand is told. */
  held(): Error | undefined;
  /** After a pass that took something: for the audit. */
  onTaken(act: {
    readonly part: RetainedPart;
    readonly rule: RetentionRule;
    readonly count: number;
    readonly bytes: number;
  }): void;
}

export interface RetentionOrder {
  readonly part: RetainedPart;
  readonly rule: RetentionRule;
  /** At most so many go. */
  readonly limit: number;
  readonly isDryRun: boolean;
  /** Sees what is about to go; what it throws leaves all as it is. */
  readonly check?: (going: readonly PlannedItem[]) => void;
}

export interface RetentionRun {
  /** Bytes of everything of the part before anything went. */
  readonly bytes: number;
  /** What went, or would go. */
  readonly taken: readonly PlannedItem[];
  readonly kept: readonly KeptItem[];
  readonly hasMore: boolean;
}

/**
 * Keeps the rules of retention: looks now and then, tells what will go, and takes what has had its notice, a bounded part at a time. Killed in the middle,
 * the next pass finds what is left. All is off unless a rule is set.
 */
export interface Retention {
  /** Parts that this root's stores can let go. */
  readonly parts: readonly RetainedPart[];
  /** The rule in force. */
  ruleOf(part: RetainedPart): RetentionRule;
  /** By an operator's word: no notice, and no more than was asked for. Undefined for a part that a store cannot let go. */
  run(order: RetentionOrder): Promise<RetentionRun | undefined>;
  reports(): readonly PartReport[];
  /** One pass over every rule that is set. */
  pass(): Promise<void>;
  start(): void;
  /** Nothing more is taken; resolves when the step at work has ended. */
  stop(): Promise<void>;
}

/** The first pass comes soon after a start, the others this long after the last, or so many times as long as that took. */
const firstAfterMs = 30_000;
const everyMs = 10 * 60_000;
const restFactor = 20;
/** Of one look. More is found by the next one, which comes at once. */
const itemsPerLook = 20_000;
const itemsPerSlice = 1000;
const slicesPerPass = 100;
const betweenSlicesMs = 200;

export function createRetention(needs: RetentionNeeds): Retention {
  return new Keeper(needs);
}

class Keeper implements Retention {
  readonly #needs: RetentionNeeds;
  readonly #reports = new Map<RetainedPart, PartReport>();
  readonly #stopping = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #timer: Timer | undefined;

  constructor(needs: RetentionNeeds) {
    this.#needs = needs;
  }

  get parts(): readonly RetainedPart[] {
    return this.#needs.shelves.map(({ part }) => part);
  }

  ruleOf(part: RetainedPart): RetentionRule {
    return this.#needs.ruleOf(part);
  }

  run(order: RetentionOrder): Promise<RetentionRun | undefined> {
    const shelf = this.#needs.shelves.find(({ part }) => part === order.part);
    return shelf === undefined
      ? Promise.resolve(undefined)
      : this.#alone(() => this.#runOn(shelf, order));
  }

  reports(): readonly PartReport[] {
    return this.#needs.shelves.flatMap(({ part }) => {
      const report = this.#reports.get(part);
      return report !== undefined && isSet(this.#needs.ruleOf(part)) ? [report] : [];
    });
  }

  pass(): Promise<void> {
    return this.#alone(async () => {
      for (const shelf of this.#needs.shelves) {
        const rule = this.#needs.ruleOf(shelf.part);
        if (isSet(rule)) await this.#passOver(shelf, rule);
        else this.#reports.delete(shelf.part);
      }
    });
  }

  start(): void {
    this.#again(firstAfterMs);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#last.catch(() => undefined);
  }

  #again(afterMs: number): void {
    const { clock } = this.#needs;
    this.#timer = clock.after(afterMs, () => {
      const began = clock.monotonic();
      void this.pass().finally(() => {
        const tookMs = clock.monotonic() - began;
        if (!this.#stopping.signal.aborted) this.#again(Math.max(everyMs, tookMs * restFactor));
      });
    });
  }

  async #runOn(shelf: Shelf, order: RetentionOrder): Promise<RetentionRun> {
    const { rule, limit, isDryRun, check } = order;
    const nowMs = this.#needs.clock.now();
    const look = await shelf.look(itemsPerLook);
    const window = { inspect: inspectOf(shelf), nowMs, untilMs: nowMs, limit };
    const plan = await planPass(look, rule, window);
    if (isDryRun)
      return { bytes: look.bytes, taken: plan.going, kept: plan.kept, hasMore: plan.hasMore };
    const held = this.#needs.held();
    if (held !== undefined) throw held;
    check?.(plan.going);
    const { taken, kept } = await this.#take(shelf, plan);
    return { bytes: look.bytes, taken, kept: [...plan.kept, ...kept], hasMore: plan.hasMore };
  }

  /** A failure is told in the status, and tried again: a pass is no act that somebody waits for. */
  async #passOver(shelf: Shelf, rule: RetentionRule): Promise<void> {
    const { notices, clock, onTaken } = this.#needs;
    const { part } = shelf;
    const total = { count: 0, bytes: 0 };
    try {
      const fromMs = Date.parse(notices.firstTold(nameOfRule(part, rule))) + ruleNoticeMs(rule);
      for (let slice = 0; slice < slicesPerPass; slice += 1) {
        const { taken, hasMore } = await this.#slice(shelf, rule, fromMs);
        total.count += taken.length;
        total.bytes += sumOf(taken);
        if (taken.length === 0 || !hasMore || this.#stopping.signal.aborted) break;
        await clock.sleep(betweenSlicesMs);
      }
    } catch (error) {
      this.#fail(part, rule, error);
    }
    if (total.count > 0) onTaken({ part, rule, ...total });
  }

  async #slice(
    shelf: Shelf,
    rule: RetentionRule,
    fromMs: number,
  ): Promise<{ readonly taken: readonly PlannedItem[]; readonly hasMore: boolean }> {
    const nowMs = this.#needs.clock.now();
    const look = await shelf.look(itemsPerLook);
    const noticeMs = ruleNoticeMs(rule);
    const inLine = look.items.filter(({ atMs }) => isInLine(atMs, look.bytes, rule, nowMs));
    const told = shelf.toldAtMs?.(inLine);
    const readyMs = ({ name }: RetainedItem): number =>
      Math.max(fromMs, told === undefined ? 0 : (told.get(name) ?? nowMs) + noticeMs);
    const window = { inspect: inspectOf(shelf), nowMs, limit: itemsPerSlice };
    const ready = look.items.filter((item) => readyMs(item) <= nowMs);
    const plan = await planPass({ ...look, items: ready }, rule, { ...window, untilMs: nowMs });
    const { taken } = await this.#take(shelf, plan);
    const rest = restOf(look, taken);
    const later = await planPass(rest, rule, { ...window, untilMs: nowMs + noticeMs });
    const waiting = waitingOf(later, readyMs);
    this.#report(shelf.part, { rule, fromMs, bytes: rest.bytes, waiting }, taken);
    return { taken, hasMore: plan.hasMore };
  }

  async #take(
    shelf: Shelf,
    { going }: PassPlan,
  ): Promise<{ readonly taken: readonly PlannedItem[]; readonly kept: readonly KeptItem[] }> {
    const taken: PlannedItem[] = [];
    const kept: KeptItem[] = [];
    const { part, atOnce } = shelf;
    const isOver = (): boolean => this.#stopping.signal.aborted || this.#needs.held() !== undefined;
    for (let at = 0; at < going.length && !isOver(); at += atOnce) {
      const some = going.slice(at, at + atOnce);
      const items = some.map(({ item }) => item);
      const outcomes = await shelf.take(items, this.#stopping.signal);
      const refused = new Map(outcomes.map((one) => [one.name, one.refused]));
      const gone = some.filter(({ item }) => refused.get(item.name) === undefined);
      taken.push(...gone);
      for (const { name, refused: code } of outcomes)
        if (code !== undefined) kept.push({ name, refused: code });
      if (gone.length > 0)
        retentionTaken.publish(() => ({ part, count: gone.length, bytes: sumOf(gone) }));
    }
    return { taken, kept };
  }

  #report(
    part: RetainedPart,
    news: Pick<PartReport, 'rule' | 'fromMs' | 'bytes' | 'waiting'>,
    gone: readonly PlannedItem[],
  ): void {
    const before = this.#reports.get(part);
    const lookedMs = this.#needs.clock.now();
    const { count, bytes } = before?.taken ?? { count: 0, bytes: 0 };
    const taken = { count: count + gone.length, bytes: bytes + sumOf(gone) };
    this.#reports.set(part, { part, lookedMs, taken, ...news, trouble: null });
    const wasWaiting = (before?.waiting.count ?? 0) > 0;
    // While a rule is in its notice the status is degraded by it, which is a line of the log already.
    if (news.waiting.count === 0 || wasWaiting || lookedMs < news.fromMs) return;
    const from = new Date(news.waiting.firstMs ?? news.fromMs).toISOString();
    const message = `retention.${part}: ${news.waiting.count} ${wordOf(part)} go within a day, the first at ${from} (millrace retention show)`;
    daemonNoticed.publish(() => ({ code: 'RETENTION_EXPIRES', message }));
  }

  #fail(part: RetainedPart, rule: RetentionRule, error: unknown): void {
    const before = this.#reports.get(part);
    const nowMs = this.#needs.clock.now();
    const since = before?.trouble?.since ?? new Date(nowMs).toISOString();
    const message = messageOf(error);
    const base = { bytes: 0, fromMs: nowMs, waiting: noneWaiting, taken: { count: 0, bytes: 0 } };
    const trouble = { message, since };
    this.#reports.set(part, { part, ...base, ...before, rule, lookedMs: nowMs, trouble });
    const code = isMillraceError(error) ? error.code : 'RETENTION_FAILED';
    if (before?.trouble?.message !== message && !this.#stopping.signal.aborted)
      daemonNoticed.publish(() => ({
        code,
        message: `retention.${part} was cut off, it is tried again: ${message}`,
      }));
  }

  #alone<T>(act: () => Promise<T>): Promise<T> {
    const run = this.#last.catch(() => undefined).then(act);
    this.#last = run;
    return run;
  }
}

function inspectOf(shelf: Shelf): Shelf['inspect'] {
  return (item) => shelf.inspect(item);
}

function sumOf(items: readonly { readonly bytes: number }[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0);
}

function restOf(look: ShelfLook<RetainedItem>, taken: readonly PlannedItem[]) {
  const gone = new Set(taken.map(({ item }) => item.name));
  return {
    ...look,
    bytes: Math.max(0, look.bytes - sumOf(taken)),
    items: look.items.filter(({ name }) => !gone.has(name)),
  };
}

function waitingOf(
  { going, hasMore }: PassPlan,
  readyMs: (item: RetainedItem) => number,
): WaitingItems {
  const times = going.map(({ item, dueMs }) => Math.max(dueMs, readyMs(item)));
  const firstMs = times.reduce((first, at) => Math.min(first, at), Number.POSITIVE_INFINITY);
  return {
    count: going.length,
    bytes: sumOf(going),
    hasMore,
    firstMs: going.length === 0 ? null : firstMs,
  };
}

/** What the items of a part are called. */
function wordOf(part: RetainedPart): string {
  return {
    graph: 'sessions',
    objects: 'large values',
    archives: 'archived logs',
    letters: 'settled dead letters',
  }[part];
}
