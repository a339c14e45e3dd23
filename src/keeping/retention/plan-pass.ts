import { excessOf } from './rule.ts';
import type { RetainedItem, RetentionRule, Shelf, ShelfLook } from './shelf.ts';

export interface PlannedItem<I extends RetainedItem = RetainedItem> {
  readonly item: I;
  readonly bytes: number;
  readonly why: 'age' | 'size';
  /** When the rule has it go, epoch ms. */
  readonly dueMs: number;
}

export interface KeptItem {
  readonly name: string;
  readonly refused: string;
}

export interface PassPlan<I extends RetainedItem = RetainedItem> {
  readonly going: readonly PlannedItem<I>[];
  /** Left as they are, and why. */
  readonly kept: readonly KeptItem[];
  /** Not all that has to go is named. */
  readonly hasMore: boolean;
}

export interface PlanWindow<I extends RetainedItem> extends Pick<Shelf<I>, 'inspect'> {
  readonly nowMs: number;
  /** Items whose time comes up to here are named. */
  readonly untilMs: number;
  readonly limit: number;
}

/**
 * Which items go by a rule, oldest first: those that are too old, and as many as it takes until what is left is not too large. What may not go is passed
 * over and stays counted.
 */
export async function planPass<I extends RetainedItem>(
  { bytes, items, hasMore }: ShelfLook<I>,
  rule: RetentionRule,
  { inspect, nowMs, untilMs, limit }: PlanWindow<I>,
): Promise<PassPlan<I>> {
  const going: PlannedItem<I>[] = [];
  const kept: KeptItem[] = [];
  let excess = excessOf(bytes, rule);
  for (const item of items) {
    const oldMs = rule.maxAgeMs === null ? Number.POSITIVE_INFINITY : item.atMs + rule.maxAgeMs;
    const dueMs = excess > 0 ? Math.min(oldMs, nowMs) : oldMs;
    if (dueMs > untilMs) return { going, kept, hasMore: false };
    if (going.length >= limit) return { going, kept, hasMore: true };
    const { bytes: size, refused } = await inspect(item);
    if (refused === undefined) {
      going.push({ item, bytes: size, why: oldMs <= dueMs ? 'age' : 'size', dueMs });
      excess -= size;
    } else kept.push({ name: item.name, refused });
  }
  return { going, kept, hasMore };
}
