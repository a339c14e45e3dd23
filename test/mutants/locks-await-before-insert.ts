import { assert } from '#base';
import type { KeyGuard, KeyLocks } from '#queue';
import type { Key } from '#record';

/** Defect (ING-T16): an await between the look-up of the table and the insert, so that two tasks both find it empty. */
export function awaitBeforeInsert(inner: KeyLocks): KeyLocks {
  const tails = new Map<Key, Promise<unknown>>();
  return {
    ...bound(inner),
    async with<T>(key: Key, fn: (guard: KeyGuard) => Promise<T>, held?: KeyGuard): Promise<T> {
      if (held !== undefined) return inner.with(key, fn, held);
      const before = tails.get(key);
      await Promise.resolve();
      const run = async (): Promise<T> => {
        await before;
        return fn(looseGuard(key));
      };
      const result = run();
      tails.set(key, Promise.allSettled([result]));
      return result;
    },
  };
}

/** A guard that knows nothing of a hold. */
export function looseGuard(key: Key): KeyGuard {
  return { key, isActive: true, leaf: (fn) => fn() };
}

/** The methods of a lock table as members of a plain object, for a mutant to replace one. */
export function bound(inner: KeyLocks): KeyLocks {
  assert(typeof inner.with === 'function', 'a lock table');
  return {
    with: (key, fn, held, label) => inner.with(key, fn, held, label),
    withAll: (keys, fn, label) => inner.withAll(keys, fn, label),
    tryAll: (keys, fn) => inner.tryAll(keys, fn),
    locked: (key) => inner.locked(key),
    get size() {
      return inner.size;
    },
    close: () => inner.close(),
    invalidate: () => inner.invalidate(),
  };
}
