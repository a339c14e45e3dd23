import { assert } from '#base';
import type { Key } from '#record';
import { guardStale } from './errors.ts';

/** Shows that its holder has the key's lock; handed on to re-enter it (D7, ING-303). Never inferred from an async context (ING-304). */
export interface KeyGuard {
  readonly key: Key;
  /** False once its scope ended, and for ever. */
  readonly isActive: boolean;
  /**
   * Runs leaf sections of one hold one after another, also when they were started in parallel (ING-305). They never nest. One that is
   * still waiting when its guard's scope ends rejects with GUARD_STALE; one that runs keeps the lock until it has ended.
   */
  leaf<T>(fn: () => Promise<T>): Promise<T>;
}

/** For leaf functions that run under a guard only (ING-306): GUARD_STALE when it is of another key or its hold has ended. */
export function assertHeld(guard: KeyGuard, key: Key = guard.key): void {
  if (guard.key !== key) throw guardStale({ key, reason: `it is the guard of ${guard.key}` });
  if (!guard.isActive) throw guardStale({ key, reason: 'its hold has ended' });
}

/** One time that a key's lock is held: by the scope that took it and those that re-entered. */
export class KeyHold {
  readonly key: Key;
  readonly label: string;
  readonly sinceMs: number;
  /** The lock table that gave it out. */
  readonly table: object;
  /** The process lost its exclusion: every guard is stale (ING-310). */
  isInvalid = false;
  readonly #onEnd: () => void;
  #openScopes = 0;
  #leafCount = 0;
  #leafTail: Promise<unknown> | undefined;
  #isStartingLeaf = false;

  constructor(table: object, key: Key, label: string, sinceMs: number, onEnd: () => void) {
    this.table = table;
    this.key = key;
    this.label = label;
    this.sinceMs = sinceMs;
    this.#onEnd = onEnd;
  }

  openScope(): ScopeGuard {
    this.#openScopes += 1;
    return new ScopeGuard(this);
  }

  /** The lock goes on when the last scope and the last running leaf have ended: a scope that nobody waits for still excludes others. */
  closeScope(guard: ScopeGuard): void {
    guard.hasEnded = true;
    this.#openScopes -= 1;
    this.#endIfDone();
  }

  runLeaf<T>(guard: ScopeGuard, fn: () => Promise<T>): Promise<T> {
    assertHeld(guard);
    assert(!this.#isStartingLeaf, `leaf sections of ${this.key} never nest (ING-305)`);
    this.#leafCount += 1;
    const result =
      this.#leafTail === undefined
        ? this.#startLeaf(guard, fn)
        : this.#leafTail.then(() => this.#startLeaf(guard, fn));
    const end = (): void => {
      this.#leafCount -= 1;
      if (this.#leafCount === 0) this.#leafTail = undefined;
      this.#endIfDone();
    };
    this.#leafTail = result.then(end, end);
    return result;
  }

  async #startLeaf<T>(guard: ScopeGuard, fn: () => Promise<T>): Promise<T> {
    assertHeld(guard);
    this.#isStartingLeaf = true;
    let running: Promise<T>;
    try {
      running = fn();
    } finally {
      this.#isStartingLeaf = false;
    }
    return running;
  }

  #endIfDone(): void {
    if (this.#openScopes === 0 && this.#leafCount === 0) this.#onEnd();
  }
}

/** The guard of one scope; scopes that re-enter share the hold and its queue of leaf sections. */
export class ScopeGuard implements KeyGuard {
  readonly hold: KeyHold;
  hasEnded = false;

  constructor(hold: KeyHold) {
    this.hold = hold;
  }

  get key(): Key {
    return this.hold.key;
  }

  get isActive(): boolean {
    return !this.hasEnded && !this.hold.isInvalid;
  }

  leaf<T>(fn: () => Promise<T>): Promise<T> {
    try {
      return this.hold.runLeaf(this, fn);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }
}
