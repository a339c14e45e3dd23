import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type KeyState, dirty } from '../session/key-state.ts';
import { encodeAppend } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';

/** Keys of one frame that carries duplicates alone. */
const keysMax = 1000;

/** Duplicates are counted by frames alone, so that no crash counts one twice: those that no other frame took travel in one without records. */
export async function submitDuplicates(engine: Engine): Promise<void> {
  const states = [...engine.table.values()].filter((state) => state.pendingDuplicates > 0);
  for (let at = 0; at < states.length; at += keysMax) {
    const some = states.slice(at, at + keysMax);
    const counts = some.map((state) => state.pendingDuplicates);
    const keys = some.map(({ key, epoch, ordinal }, index) => ({
      k: key,
      e: epoch,
      o: ordinal,
      dup: counts[index] ?? 0,
    }));
    for (const state of some) state.pendingDuplicates = 0;
    const settle = (isDurable: boolean): void => {
      for (const [index, state] of some.entries())
        settleDuplicates(engine, state, counts[index] ?? 0, isDurable);
    };
    await submitFrame(
      engine,
      frameKinds.append,
      encodeAppend({ keys, records: [], t: engine.options.clock.now() }, []),
      () => settle(true),
      () => settle(false),
    );
  }
}

/** What a frame took of the duplicates of a key: counted once it is durable, waiting for the next one when it failed. */
export function settleDuplicates(
  engine: Engine,
  state: KeyState,
  count: number,
  isDurable: boolean,
): void {
  if (!isDurable) {
    state.pendingDuplicates += count;
    return;
  }
  if (count === 0) return;
  state.totals.duplicates += count;
  engine.totals.duplicates += count;
  engine.pendingDuplicates -= count;
  dirty(state);
}
