import type { KeyGuard, KeyLocks } from '#queue';
import { bound } from './locks-await-before-insert.ts';

/** Defect (ING-T18): the guard has no queue of its own, so leaf sections that start in parallel run in parallel. */
export function leavesSideBySide(inner: KeyLocks): KeyLocks {
  const guards = new WeakMap<KeyGuard, KeyGuard>();
  return {
    ...bound(inner),
    with(key, fn, held, label) {
      const loosen = (guard: KeyGuard): KeyGuard => {
        const loose: KeyGuard = {
          key,
          get isActive() {
            return guard.isActive;
          },
          leaf: (section) => section(),
        };
        guards.set(loose, guard);
        return loose;
      };
      const real = held === undefined ? undefined : (guards.get(held) ?? held);
      return inner.with(key, (guard) => fn(loosen(guard)), real, label);
    },
  };
}
