import type { KeyGuard } from '#queue';
import type { Key } from '#record';
import { evidenceKept } from '#signals';
import type { Engine } from '../engine.ts';
import { liveLetterRecords } from '../session/dead-file.ts';
import type { KeyState } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';

/** Dead letters that a key's books count, and those that its files hold: different where a file was lost, emptied or changed. */
export interface LetterGap {
  readonly counted: number;
  readonly found: number;
  /** Epoch ms. */
  readonly since: number;
}

/**
 * Compares the dead letters of a key with its books. Nothing is drained by them, so the key goes on; but a dead letter is an acknowledged event, so that
 * one is gone is told until its file is put back (P4, ING-414).
 */
export async function countLetters(engine: Engine, guard: KeyGuard): Promise<void> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  // The caller holds the key's lock, so that no other commit follows.
  await state?.commitInFlight;
  const { counted, found } = await compareLetters(engine, key, state);
  const known = engine.letterGaps.get(key);
  if (counted === found) {
    engine.letterGaps.delete(key);
    return;
  }
  const since = known?.since ?? engine.options.clock.now();
  engine.letterGaps.set(key, { counted, found, since });
  if (known?.counted === counted && known.found === found) return;
  const reason = `the books of ${key} count ${counted} dead letters, its dead.jsonl and dead.*.jsonl hold ${found}: restore them from a backup, or see "millrace dead write-off"`;
  evidenceKept.publish(() => ({ path: engine.files.folderOf(key), reason }));
}

/** Called with the key's lock, no commit in flight. */
export async function compareLetters(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
): Promise<{ readonly counted: number; readonly found: number }> {
  const booked = (): number => (state ?? engine.options.state.getRow(key))?.totals.dead ?? 0;
  // The record of a requeue that was handed over before may become durable while the letters are read, and takes its letter from the books.
  for (;;) {
    const counted = booked();
    const found = await liveLetterRecords(engine, key, state);
    if (booked() === counted) return { counted, found };
  }
}
