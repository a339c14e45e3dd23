import { keyQuarantined } from '#signals';
import type { Engine } from './engine.ts';
import { change } from './memory-store.ts';
import type { StoredKey } from './stored-key.ts';

/** Stops one key; the first fault is the one that is kept (ING-408, ING-409). */
export function stopKey(
  engine: Engine,
  stored: StoredKey,
  fault: { readonly code: string; readonly message: string },
): void {
  if (stored.quarantine !== null) return;
  const { code, message } = fault;
  const since = new Date(engine.clock.now()).toISOString();
  change(engine.store, stored, () => {
    stored.quarantine = { code, message, since };
  });
  keyQuarantined.publish(() => ({ key: stored.key, code, message }));
}
