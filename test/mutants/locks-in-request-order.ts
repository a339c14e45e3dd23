import type { KeyGuard, KeyLocks } from '#queue';
import { bound } from './locks-await-before-insert.ts';

/** Defect (ING-T38): the guards of a request are taken in the order in which it names its keys. */
export function inRequestOrder(inner: KeyLocks): KeyLocks {
  return {
    ...bound(inner),
    withAll(keys, fn, label) {
      const step = (at: number, guards: readonly KeyGuard[]): ReturnType<typeof fn> => {
        const key = keys[at];
        if (key === undefined) return fn(guards);
        return inner.with(key, (guard) => step(at + 1, [...guards, guard]), undefined, label);
      };
      return step(0, []);
    },
  };
}
