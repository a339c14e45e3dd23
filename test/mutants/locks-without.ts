import type { KeyGuard, KeyLocks } from '#queue';
import { bound } from './locks-await-before-insert.ts';

/** Defect (ING-T02, ING-T23, ING-T38): one kind of step goes to work without the lock of its key. */
export function locksWithout(label: string): (inner: KeyLocks) => KeyLocks {
  const forged = new WeakSet<KeyGuard>();
  return (inner) => ({
    ...bound(inner),
    with(key, fn, held, name) {
      if (held !== undefined && forged.has(held)) return fn(held);
      if (name !== label) return inner.with(key, fn, held, name);
      const guard: KeyGuard = { key, isActive: true, leaf: (act) => act() };
      forged.add(guard);
      return fn(guard);
    },
  });
}
