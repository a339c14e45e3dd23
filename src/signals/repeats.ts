/** Lines of one kind that are written within a window; the others are counted. */
const linesPerWindow = 20;
const windowMs = 60_000;

/**
 * Keeps a log readable when one cause makes ten thousand lines: the first of a minute are written, the next minute's first tells how many were left
 * out. Kinds come from small closed sets.
 */
export class Repeats {
  readonly #monotonicMs: () => number;
  readonly #windows = new Map<string, { beganMs: number; lines: number; omitted: number }>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Undefined when the line is left out; else how many were left out before it. */
  admit(kind: string): { readonly omitted: number } | undefined {
    const nowMs = this.#monotonicMs();
    const window = this.#windows.get(kind);
    if (window === undefined || nowMs - window.beganMs >= windowMs) {
      this.#windows.set(kind, { beganMs: nowMs, lines: 1, omitted: 0 });
      return { omitted: window?.omitted ?? 0 };
    }
    if (window.lines >= linesPerWindow) {
      window.omitted += 1;
      return undefined;
    }
    window.lines += 1;
    return { omitted: 0 };
  }
}
