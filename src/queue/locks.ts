import { type Clock, assert } from '#base';
import type { Key } from '#record';
import { draining, guardStale } from './errors.ts';

/** Shows that its holder has the key's lock; handed on to re-enter it (D7, ING-303). Never inferred from an async context (ING-304). */
export interface KeyGuard {
  readonly key: Key;
  readonly isActive: boolean;
  /** Runs leaf sections of one hold one after another, also when they were started in parallel (ING-305). They never nest. */
  leaf<T>(fn: () => Promise<T>): Promise<T>;
}

export interface KeyLocks {
  /** Runs `fn` while the key's lock is held; with `held`, a live guard of the same key, at once. */
  with<T>(key: Key, fn: (guard: KeyGuard) => Promise<T>, held?: KeyGuard): Promise<T>;
  /** Takes the locks of all keys in sorted order, and nothing else while it holds them (ING-314). */
  withAll<T>(keys: readonly Key[], fn: (guards: readonly KeyGuard[]) => Promise<T>): Promise<T>;
  /** Runs `fn` in this very step when none of the keys is held; undefined without running it otherwise. */
  tryAll<T>(keys: readonly Key[], fn: () => T): { readonly value: T } | undefined;
  locked(key: Key): boolean;
  /** Number of keys in the table: locks that are held or waited for (ING-307). */
  readonly size: number;
  /** Waiters fail with DRAINING; holds go on to their end. */
  close(): void;
}

export interface KeyLocksOptions {
  readonly clock: Clock;
  readonly warnMs: number;
  /** Told when a wait took longer than `warnMs` (ING-312). */
  readonly onSlow?: (key: Key, waitedMs: number) => void;
}

interface Waiter {
  readonly enter: () => void;
  readonly fail: (error: Error) => void;
}

interface Entry {
  isHeld: boolean;
  readonly waiters: Waiter[];
}

class Guard implements KeyGuard {
  readonly key: Key;
  isActive = true;
  #tail: Promise<unknown> = Promise.resolve();
  #isInLeaf = false;

  constructor(key: Key) {
    this.key = key;
  }

  leaf<T>(fn: () => Promise<T>): Promise<T> {
    assertHeld(this);
    const run = async (): Promise<T> => {
      assert(!this.#isInLeaf, `leaf sections of ${this.key} never nest`);
      this.#isInLeaf = true;
      try {
        return await fn();
      } finally {
        this.#isInLeaf = false;
      }
    };
    const result = this.#tail.then(run);
    this.#tail = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }
}

/** For leaf functions that run under a guard only (ING-306). */
export function assertHeld(guard: KeyGuard, key: Key = guard.key): void {
  if (guard.key !== key) throw guardStale({ key, reason: `it is the guard of ${guard.key}` });
  if (!guard.isActive) throw guardStale({ key, reason: 'its hold has ended' });
}

/** Look-up or create, count and insert are one synchronous step (ING-307): no await stands between test and insert. */
export function createKeyLocks(options: KeyLocksOptions): KeyLocks {
  const entries = new Map<Key, Entry>();
  let isClosed = false;

  function enter(key: Key): Promise<void> | undefined {
    const entry = entries.get(key);
    if (entry === undefined) {
      entries.set(key, { isHeld: true, waiters: [] });
      return undefined;
    }
    if (isClosed) throw draining({ what: `the lock of ${key}` });
    const since = options.clock.monotonic();
    return new Promise<void>((resolve, reject) => {
      entry.waiters.push({
        enter() {
          const waitedMs = options.clock.monotonic() - since;
          if (waitedMs > options.warnMs) options.onSlow?.(key, waitedMs);
          resolve();
        },
        fail: reject,
      });
    });
  }

  function leave(key: Key): void {
    const entry = entries.get(key);
    assert(entry?.isHeld === true, `the lock of ${key} is left without being held`);
    const next = entry.waiters.shift();
    if (next === undefined) entries.delete(key);
    else next.enter();
  }

  async function withKey<T>(
    key: Key,
    fn: (guard: KeyGuard) => Promise<T>,
    held?: KeyGuard,
  ): Promise<T> {
    if (held !== undefined) {
      assertHeld(held, key);
      return fn(held);
    }
    const wait = enter(key);
    if (wait !== undefined) await wait;
    const guard = new Guard(key);
    try {
      return await fn(guard);
    } finally {
      guard.isActive = false;
      leave(key);
    }
  }

  async function withAll<T>(
    keys: readonly Key[],
    fn: (guards: readonly KeyGuard[]) => Promise<T>,
  ): Promise<T> {
    const sorted = [...new Set(keys)].toSorted();
    const guards: Guard[] = [];
    try {
      for (const key of sorted) {
        const wait = enter(key);
        if (wait !== undefined) await wait;
        guards.push(new Guard(key));
      }
      return await fn(guards);
    } finally {
      for (const guard of guards) {
        guard.isActive = false;
        leave(guard.key);
      }
    }
  }

  return {
    with: withKey,
    withAll,
    tryAll(keys, fn) {
      for (const key of keys) if (entries.has(key)) return undefined;
      return { value: fn() };
    },
    locked: (key) => entries.has(key),
    get size() {
      return entries.size;
    },
    close() {
      isClosed = true;
      for (const [key, entry] of entries)
        for (const waiter of entry.waiters.splice(0))
          waiter.fail(draining({ what: `the lock of ${key}` }));
    },
  };
}
