/**
 * Lets sections through, and can be held: from then on none begins, and the holder goes on once those that had begun have ended. What a section
 * does is whole at that instant.
 */
export class Gate {
  #inside = 0;
  #holds = 0;
  #isBroken = false;
  #waiting: (() => void)[] = [];
  #emptied: (() => void)[] = [];

  get isHeld(): boolean {
    return this.#holds > 0 && !this.#isBroken;
  }

  /** Runs the section once nobody holds the gate. */
  async pass<T>(section: () => Promise<T>): Promise<T> {
    while (this.#holds > 0 && !this.#isBroken)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#inside += 1;
    try {
      return await section();
    } finally {
      this.#inside -= 1;
      if (this.#inside === 0) for (const wake of this.#emptied.splice(0)) wake();
    }
  }

  /**
   * Resolves when no section runs, to the function that lets them go on; rejects with the signal's reason, holding nothing, when they do not end
   * in time.
   */
  async hold(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.#holds += 1;
    let isHeld = true;
    const letGo = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      if (this.#holds === 0) this.#wakeAll();
    };
    try {
      await this.#empty(signal);
      return letGo;
    } catch (error) {
      letGo();
      throw error;
    }
  }

  /** Nobody is kept any more: for a stop, which ends sections at their own borders. */
  break(): void {
    this.#isBroken = true;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #empty(signal: AbortSignal): Promise<void> {
    if (this.#inside === 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#emptied.push(resolve);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#emptied = this.#emptied.filter((one) => one !== resolve);
    }
  }
}
