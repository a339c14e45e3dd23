/** What may be kept for a time, or up to a size, one rule for each. */
export const retainedParts = ['graph', 'objects', 'archives', 'letters'] as const;
export type RetainedPart = (typeof retainedParts)[number];

export interface RetentionRule {
  /** Null: no age is too great. */
  readonly maxAgeMs: number | null;
  /** Null: no size is too large. */
  readonly maxBytes: number | null;
}

/** One thing that may go. */
export interface RetainedItem {
  /** For people, and unique in its part. */
  readonly name: string;
  /** How old it is: epoch ms. */
  readonly atMs: number;
  /** Undefined: nobody has measured it yet. */
  readonly bytes?: number;
}

export interface ShelfLook<I extends RetainedItem> {
  /** Bytes of everything of this part, what may not go too. */
  readonly bytes: number;
  /** The oldest, oldest first, at most as many as were asked for. */
  readonly items: readonly I[];
  readonly hasMore: boolean;
}

export interface Taken {
  readonly name: string;
  /** Undefined: it is gone. Else what stands against it; it stays. */
  readonly refused?: string;
}

/** One part of a root that a rule may be set for. A look and a taking may each be repeated; a kill between leaves what the next look finds. */
export interface Shelf<I extends RetainedItem = RetainedItem> {
  readonly part: RetainedPart;
  /** Items of one taking: between two of them others have their turn. */
  readonly atOnce: number;
  look(limit: number): Promise<ShelfLook<I>>;
  /** Measures an item, and says what stands against it. */
  inspect(item: I): Promise<{ readonly bytes: number; readonly refused?: string }>;
  take(items: readonly I[], stopping: AbortSignal): Promise<readonly Taken[]>;
  /**
   * When operators were first told that an item goes, epoch ms. Undefined where an item's age is by this machine's clock, so that it was seen to come
   * near its end for as long as it takes.
   */
  toldAtMs?(items: readonly I[]): ReadonlyMap<string, number>;
}
