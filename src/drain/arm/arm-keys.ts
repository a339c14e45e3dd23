import type { FencePermit } from '#fence';
import type { AppliedRow, GraphStore } from '#graph';
import type { Key } from '#record';

interface Waiter {
  readonly key: Key;
  readonly resolve: (row: AppliedRow | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Keys of one transaction. */
const keysMax = 256;

/** Arms the guards of keys, those that ask at the same time in one transaction: one call runs, the next takes all that has gathered (FEN-411). */
export class KeyArmer {
  readonly #graph: GraphStore;
  readonly #permit: FencePermit;
  #waiting: Waiter[] = [];
  #isRunning = false;

  constructor(graph: GraphStore, permit: FencePermit) {
    this.#graph = graph;
    this.#permit = permit;
  }

  /** The key's row in the graph; null when it has none. */
  arm(key: Key): Promise<AppliedRow | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    // Those who ask in this very step join the first call.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#run(this.#waiting.splice(0, keysMax));
    this.#isRunning = false;
  }

  async #run(asked: readonly Waiter[]): Promise<void> {
    try {
      const rows = await this.#graph.armKeys(
        this.#permit,
        asked.map(({ key }) => key),
      );
      for (const { key, resolve } of asked) resolve(rows.get(key) ?? null);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
