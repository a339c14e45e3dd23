import { AsyncLocalStorage } from 'node:async_hooks';
import type { KeyLocks } from '#queue';
import type { Key } from '#record';
import { bound, looseGuard } from './locks-await-before-insert.ts';

/** Defect (ING-T19): who owns a key is inferred from the async context, which a detached task still carries after the hold. */
export function byAsyncContext(inner: KeyLocks): KeyLocks {
  const owned = new AsyncLocalStorage<Key>();
  return {
    ...bound(inner),
    with(key, fn, held, label) {
      if (owned.getStore() === key) return fn(looseGuard(key));
      return inner.with(key, (guard) => owned.run(key, () => fn(guard)), held, label);
    },
  };
}
