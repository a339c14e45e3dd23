import type { Key, Position } from '#record';

interface Waiter {
  readonly position: Position;
  readonly resolve: () => void;
}

/** Those who wait until a key is committed up to a position. */
export class PositionWaiters {
  readonly #byKey = new Map<Key, Set<Waiter>>();

  /** Resolves at the first `passed` at or behind `position`; rejects with the signal's reason. */
  wait(key: Key, position: Position, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const waiters = this.#byKey.get(key) ?? new Set<Waiter>();
      this.#byKey.set(key, waiters);
      const end = (): void => {
        signal.removeEventListener('abort', onAbort);
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#byKey.get(key) === waiters) this.#byKey.delete(key);
      };
      const onAbort = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        position,
        resolve() {
          end();
          resolve();
        },
      };
      waiters.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  passed(key: Key, after: Position): void {
    for (const { position, resolve } of this.#byKey.get(key) ?? [])
      if (position <= after) resolve();
  }
}
