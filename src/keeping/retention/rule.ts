import type { RetentionRule } from './shelf.ts';

/** Nothing goes without a day's notice, or the rule's own age where that is shorter. */
const noticeMsMax = 24 * 3_600_000;
/** From this share of a size on, the oldest are next in line. */
const nearShare = 0.9;

export function isSet({ maxAgeMs, maxBytes }: RetentionRule): boolean {
  return maxAgeMs !== null || maxBytes !== null;
}

export function ruleNoticeMs({ maxAgeMs }: RetentionRule): number {
  return Math.min(noticeMsMax, maxAgeMs ?? noticeMsMax);
}

/** Another rule is another one to be told, with a notice of its own. */
export function nameOfRule(part: string, { maxAgeMs, maxBytes }: RetentionRule): string {
  return `retention.${part} age=${maxAgeMs ?? 'none'} bytes=${maxBytes ?? 'none'}`;
}

/** Bytes that are too many. */
export function excessOf(bytes: number, { maxBytes }: RetentionRule): number {
  return maxBytes === null ? 0 : Math.max(0, bytes - maxBytes);
}

/** Whether an item of this age may go within a notice from now: it has to be told by now. */
export function isInLine(atMs: number, bytes: number, rule: RetentionRule, nowMs: number): boolean {
  const { maxAgeMs, maxBytes } = rule;
  if (maxBytes !== null && bytes > maxBytes * nearShare) return true;
  return maxAgeMs !== null && atMs + maxAgeMs <= nowMs + ruleNoticeMs(rule);
}
