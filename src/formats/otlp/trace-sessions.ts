/** What earlier requests said of a trace. */
interface KnownTrace {
  /** The first session that one of its spans named. */
  session: string | undefined;
  /** Some came early, also where it is not known any more which. */
  hasEarly: boolean;
  /** Spans that came before anybody had named one: their events stand in a session named by the trace. */
  readonly early: Set<string>;
}

export interface TraceLimits {
  readonly traces: number;
  /** Early spans of one trace; further ones are not known again. */
  readonly earlyOfOne: number;
  /** Early spans of all traces, some 80 bytes each. */
  readonly early: number;
}

/** Workspace and trace id, the session that was named first, and whether spans came before it: what is worth keeping over a restart. */
export type KeptTrace = readonly [key: string, session: string | null, hasEarly: boolean];

const limitsDefault: TraceLimits = { traces: 10_000, earlyOfOne: 1_000, early: 200_000 };

/**
 * Sessions of traces whose spans come in several requests (B171): spans are sent when they end, so the one that names the session may be the last.
 * Bounded, the trace that was longest unheard of goes first; a span that is sent again is answered as before.
 */
export class TraceSessions {
  readonly #limits: TraceLimits;
  readonly #traces = new Map<string, KnownTrace>();
  #early = 0;
  #changes = 0;

  constructor(limits: TraceLimits = limitsDefault) {
    this.#limits = limits;
  }

  /** Grows with everything that `kept` would tell anew. */
  get changes(): number {
    return this.#changes;
  }

  /** The longest unheard of first. */
  kept(): readonly KeptTrace[] {
    return [...this.#traces].map(([key, { session, hasEarly }]) => [
      key,
      session ?? null,
      hasEarly,
    ]);
  }

  /** Takes up what an earlier life kept; what was heard since goes before it. */
  recall(kept: readonly KeptTrace[]): void {
    const heard = [...this.#traces];
    this.#traces.clear();
    for (const [key, session, hasEarly] of kept)
      this.#traces.set(key, { session: session ?? undefined, hasEarly, early: new Set() });
    for (const [key, trace] of heard) {
      const before = this.#traces.get(key);
      trace.session = before?.session ?? trace.session;
      trace.hasEarly ||= before?.hasEarly === true;
      this.#traces.delete(key);
      this.#traces.set(key, trace);
    }
    this.#forget();
  }

  /** A span of the trace named its session; the first word stays. */
  learn(workspace: string | undefined, traceId: string, session: string): void {
    const known = this.#known(workspace, traceId);
    if (known.session !== undefined) return;
    known.session = session;
    this.#changes += 1;
  }

  /** Where a span or record that names no session belongs: `spanId` undefined for one that cannot be known again. */
  sessionFor(
    workspace: string | undefined,
    traceId: string,
    spanId: string | undefined,
  ): string | undefined {
    const known = this.#known(workspace, traceId);
    if (spanId !== undefined && known.early.has(spanId)) return undefined;
    if (known.session !== undefined) return known.session;
    if (spanId !== undefined && known.early.size < this.#limits.earlyOfOne) {
      known.early.add(spanId);
      if (!known.hasEarly) this.#changes += 1;
      known.hasEarly = true;
      this.#early += 1;
      this.#forget();
    }
    return undefined;
  }

  /** The session above that of the trace itself; undefined where nothing came early. */
  parentOf(workspace: string | undefined, traceId: string): string | undefined {
    const known = this.#known(workspace, traceId);
    return !known.hasEarly || known.session === traceId ? undefined : known.session;
  }

  #known(workspace: string | undefined, traceId: string): KnownTrace {
    const key = `${workspace ?? ''}\n${traceId}`;
    const known = this.#traces.get(key) ?? {
      session: undefined,
      hasEarly: false,
      early: new Set<string>(),
    };
    this.#traces.delete(key);
    this.#traces.set(key, known);
    this.#forget();
    return known;
  }

  #forget(): void {
    for (const [key, { early }] of this.#traces) {
      if (this.#traces.size <= this.#limits.traces && this.#early <= this.#limits.early) return;
      this.#traces.delete(key);
      this.#early -= early.size;
    }
  }
}
