import type { KeyGuard, KeyLocks } from '#queue';
import type { Key } from '#record';

/** A lock table that locks nothing: what is left when the lock is somebody else's to take. */
export function looseLocks(): KeyLocks {
  const guardOf = (key: Key): KeyGuard => ({ key, isActive: true, leaf: (fn) => fn() });
  return {
    with: (key, fn) => fn(guardOf(key)),
    withAll: (keys, fn) => fn(keys.map(guardOf)),
    tryAll: (_keys, fn) => ({ value: fn() }),
    locked: () => false,
    size: 0,
    close: () => undefined,
    invalidate: () => undefined,
  };
}

/** Looks the key up, lets others in, and only then puts itself behind what it saw (ING-T16). */
export function lateLocks(): KeyLocks {
  const tails = new Map<Key, Promise<unknown>>();
  return {
    ...looseLocks(),
    async with(key, fn) {
      const before = tails.get(key);
      await Promise.resolve();
      const run = async (): ReturnType<typeof fn> => {
        await before;
        return fn({ key, isActive: true, leaf: (section) => section() });
      };
      const result = run();
      tails.set(key, Promise.allSettled([result]));
      return result;
    },
  };
}
