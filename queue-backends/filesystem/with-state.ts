import { isMillraceError, messageOf } from '#base';
import { platformCode } from '#disk';
import { draining, queueWriteFailed } from '#queue';
import type { Key } from '#record';
import type { Engine } from './engine.ts';
import type { KeyState } from './session/key-state.ts';
import { loadState } from './session/load-key.ts';
import { stopKey } from './repair/set-back.ts';

/** Reads under the key's lock; the state is undefined for a key that was never seen. */
export function withState<T>(
  engine: Engine,
  key: Key,
  label: string,
  act: (state: KeyState | undefined) => Promise<T>,
): Promise<T> {
  return engine.locks.with(
    key,
    (guard) =>
      asRetry(key, async () => {
        if (engine.isClosing) throw draining({ what: 'the queue' });
        return act(await loadState(engine, guard));
      }),
    undefined,
    label,
  );
}

/** A disk that fails now may do later (ING-405): what is no error of ours becomes one that asks to come again. */
export async function asRetry<T>(key: Key, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isMillraceError(error) || platformCode(error) === undefined) throw error;
    const reason = `the files of ${key} failed: ${messageOf(error)}`;
    throw queueWriteFailed({ reason, keys: [key] }, error);
  }
}

/** Damage that a reader meets puts the key into quarantine before it is told (ING-407). */
export async function stopOnDamage<T>(
  engine: Engine,
  state: KeyState,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt')
      await stopKey(engine, state, error);
    throw error;
  }
}
