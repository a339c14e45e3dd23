import { keyOfLetterId } from './letter-page.ts';
import type { DeadLetters } from './dead-letters.ts';

/** Nobody loses a letter without a day's notice, or the retention itself where that is shorter. */
const noticeMsMax = 24 * 3_600_000;
/** Letters of one key that are discarded in one frame. */
const lettersPerFrame = 100;

export interface RetentionRule {
  /** From a letter's own time (ING-713). */
  readonly retentionMs: number;
  /** When operators were first told of this retention, epoch ms: nothing expires before they had their notice. */
  readonly toldAtMs: number;
}

/** What one look has found and done. */
export interface ExpiryReport {
  /** Letters that go within the next notice. */
  readonly expiring: number;
  /** When the first of them goes, epoch ms; null without any. */
  readonly firstMs: number | null;
  readonly expired: number;
}

export function noticeMs(retentionMs: number): number {
  return Math.min(noticeMsMax, retentionMs);
}

/** When a letter goes: by its own age, and never before the notice has passed since the rule was first told. Pure. */
export function expiresAtMs(ts: string, { retentionMs, toldAtMs }: RetentionRule): number {
  return Math.max(Date.parse(ts) + retentionMs, toldAtMs + noticeMs(retentionMs));
}

/** Discards live letters whose time has come, and counts those whose time comes soon. What fails now is found again at the next look. */
export async function expireLetters(
  letters: Pick<DeadLetters, 'each' | 'discardMany'>,
  rule: RetentionRule,
  nowMs: number,
): Promise<ExpiryReport> {
  let expiring = 0;
  let firstMs: number | null = null;
  let expired = 0;
  let due: string[] = [];
  const soonMs = nowMs + noticeMs(rule.retentionMs);
  const discard = async (): Promise<void> => {
    const [first] = due;
    const key = first === undefined ? undefined : keyOfLetterId(first);
    if (key === undefined) return;
    const outcomes = await letters.discardMany(key, due, { principal: 'retention' });
    expired += outcomes.filter(({ result }) => result === 'discarded').length;
    due = [];
  };
  for await (const { id, ts, outcome, key } of letters.each({})) {
    if (outcome.kind !== 'live') continue;
    const atMs = expiresAtMs(ts, rule);
    if (atMs <= nowMs) {
      const [first] = due;
      if (first !== undefined && (keyOfLetterId(first) !== key || due.length >= lettersPerFrame))
        await discard();
      due.push(id);
    } else if (atMs <= soonMs) {
      expiring += 1;
      firstMs = Math.min(firstMs ?? atMs, atMs);
    }
  }
  await discard();
  return { expiring, firstMs, expired };
}
