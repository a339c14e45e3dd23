/** One turn of the event loop: every promise that could settle has settled. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits for a condition, turn by turn; fails by name rather than hanging. */
export async function until(what: string, isTrue: () => boolean, turnsMax = 10_000): Promise<void> {
  for (let turns = 0; !isTrue(); turns += 1) {
    if (turns >= turnsMax) throw new Error(`it never came about that ${what}`);
    await turn();
  }
}
