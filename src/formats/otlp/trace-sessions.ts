/** What earlier requests said of a trace. */
interface KnownTrace {
  /** The first session that one of its spans named. */
  session: string | undefined;
  /** Spans that came before anybody had named one: their events stand in a session named by the trace. */
  readonly early: Set<string>;
}

const tracesMax = 10_000;
const earlyMax = 1_000;

/**
 * Sessions of traces whose spans come in several requests (B171): spans are sent when they end, so the one that names the session may be the last.
 * Bounded, the trace that was longest unheard of goes first; a span that is sent again is answered as before.
 */
export class TraceSessions {
  readonly #traces = new Map<string, KnownTrace>();

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
    if (spanId !== undefined && known.early.size < earlyMax) known.early.add(spanId);
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
    const [oldest] = this.#traces.keys();
    if (this.#traces.size > tracesMax && oldest !== undefined) this.#traces.delete(oldest);
    return known;
  }
}
