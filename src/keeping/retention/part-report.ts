import type { RetainedPart, RetentionRule } from './shelf.ts';

/** What one rule has found and done. */
export interface PartReport {
  readonly part: RetainedPart;
  readonly rule: RetentionRule;
  /** Nothing goes by it before, epoch ms: operators have had their notice by then. */
  readonly fromMs: number;
  /** Of the last pass, epoch ms. */
  readonly lookedMs: number;
  /** Bytes of everything of this part. */
  readonly bytes: number;
  /** What goes within the next notice, and when the first of it does, epoch ms. */
  readonly waiting: WaitingItems;
  /** Since the daemon has started. */
  readonly taken: { readonly count: number; readonly bytes: number };
  /** Why the last pass was cut off; null when it was not. */
  readonly trouble: { readonly message: string; readonly since: string } | null;
}

export interface WaitingItems {
  readonly count: number;
  readonly bytes: number;
  /** There are more of them. */
  readonly hasMore: boolean;
  readonly firstMs: number | null;
}

export const noneWaiting: WaitingItems = { count: 0, bytes: 0, hasMore: false, firstMs: null };
