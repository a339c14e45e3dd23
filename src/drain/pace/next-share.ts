/** What was seen since the share was set. */
export interface Press {
  /** Clients were answered meanwhile. */
  readonly hasAppends: boolean;
  /** Part of the time that the thread which answers them waited for a core, 0 to 1. */
  readonly waitedPart: number;
  /** How far the graph is behind the log, in ms. */
  readonly lagMs: number;
}

/** Part of a core that the fold may always take: about a thousand small events a second. */
export const shareLeast = 0.05;
/**
 * A graph that is this far behind takes all it can get. Before that its part grows with the square of how far it is: a burst of ten seconds is answered first (3 %
 * of a core), a load that stays is not put off for ever (half of one after 42 s).
 */
export const lagWholeMs = 60_000;
/** On two idle cores a thread waits for a twentieth of the time, with the drain and a client at work for a third to a half. */
const pressedAbove = 0.15;
const easedBelow = 0.08;

/**
 * The part of a core that the fold may take next, above 0 and at most 1. It halves while clients wait for a core that the drain has, and comes back in half a
 * second; where cores are free it stays whole.
 */
export function nextShare(share: number, { hasAppends, waitedPart, lagMs }: Press): number {
  const least = Math.max(shareLeast, (lagMs / lagWholeMs) ** 2);
  const isPressed = hasAppends && waitedPart > pressedAbove;
  const isEased = !hasAppends || waitedPart < easedBelow;
  const wanted = isPressed ? share / 2 : isEased ? share * 1.5 : share;
  return Math.min(1, Math.max(least, wanted));
}
