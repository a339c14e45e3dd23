/** What earlier requests said of a trace. */
interface KnownTrace {
  /** The first session that one of its spans named. */
  session: string | undefined;
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

const limitsDefault: TraceLimits = { traces: 10_000, earlyOfOne: 1_000, early: 200_000 };

/**
 * Sessions of traces whose spans come in several requests (B171): spans are sent when they end, so the one that names the session may be the last.
 * Bounded, the trace that was longest unheard of goes first; a span that is sent again is answered as before.
 */
export class TraceSessions {
  readonly #limits: TraceLimits;
  readonly #traces = new Map<string, KnownTrace>();
  #early = 0;

  constructor(limits: TraceLimits = limitsDefault) {
    this.#limits = limits;
  }

  /** A span of the trace named its session; the first word stays. */
  learn(workspace: string | undefined, traceId: string, session: string): void {
    this.#known(workspace, traceId).session ??= session;
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
      this.#early += 1;
      this.#forget();
    }
    return undefined;
  }

  /** The session above that of the trace itself; undefined where nothing came early. */
  parentOf(workspace: string | undefined, traceId: string): string | undefined {
    const known = this.#known(workspace, traceId);
    return known.early.size === 0 || known.session === traceId ? undefined : known.session;
  }

  #known(workspace: string | undefined, traceId: string): KnownTrace {
    const key = `${workspace ?? ''}\n${traceId}`;
    const known = this.#traces.get(key) ?? { session: undefined, early: new Set<string>() };
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
