import { isMillraceError, messageOf, type MillraceError } from '#base';
import type { FencePermit } from '#fence';
import { queueWriteFailed } from '#queue';
import { assertCurrent, type MemoryStore } from './memory-store.ts';

/** One durable change on its way to the store. */
export interface Frame {
  /** Changes the store; called once, when the frame's group was synced. */
  apply(): void;
  /** Takes back what was reserved for it. */
  failed(): void;
}

interface Waiting {
  readonly frame: Frame;
  readonly resolve: () => void;
  readonly reject: (error: MillraceError) => void;
}

/** The line to the store: one sync in flight, the next takes all that gathered meanwhile. A failed one fails everything in the line (QFS-03). */
export class FrameLine {
  readonly #store: MemoryStore;
  readonly #permit: FencePermit;
  readonly #onSettled: () => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(store: MemoryStore, permit: FencePermit, onSettled: () => void) {
    this.#store = store;
    this.#permit = permit;
    this.#onSettled = onSettled;
  }

  /** Resolves when the frame is durable and applied. */
  hand(frame: Frame): Promise<void> {
    const durable = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ frame, resolve, reject });
    });
    this.#running ??= this.#run();
    return durable;
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Frames that are handed over in this very step join the group.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0);
      try {
        await this.#store.sync();
        assertCurrent(this.#store, this.#permit);
        for (const { frame } of group) frame.apply();
        for (const { resolve } of group) resolve();
      } catch (error) {
        this.#fail([...group, ...this.#waiting.splice(0)], error);
      }
      this.#onSettled();
    }
    this.#running = undefined;
  }

  #fail(group: readonly Waiting[], cause: unknown): void {
    const error = isMillraceError(cause)
      ? cause
      : queueWriteFailed({ reason: messageOf(cause) }, cause);
    for (const { frame, reject } of group) {
      frame.failed();
      reject(error);
    }
  }
}
