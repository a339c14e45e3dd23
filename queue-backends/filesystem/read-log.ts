import type { BatchItem } from '#queue';
import type { Key } from '#record';
import type { Engine } from './engine.ts';
import { positionOf } from './session/key-state.ts';
import { readLines } from './session/read-lines.ts';
import { refuseQuarantined } from './read.ts';
import { stopOnDamage, withState } from './with-state.ts';

const pageBytes = 1024 * 1024;

interface Page {
  readonly items: readonly BatchItem[];
  readonly next: number;
  readonly isLast: boolean;
}

/**
 * Every record that the log of a key still holds, committed or not, in order; a page at a time, so that the lock is free in between. What only the
 * journal holds is not among them: make a checkpoint before. Rejects with SESSION_QUARANTINED and the corrupt class as reads do.
 */
export async function* readLog(engine: Engine, key: Key): AsyncGenerator<BatchItem> {
  let from = 0;
  for (;;) {
    const page = await readPage(engine, key, from);
    yield* page.items;
    if (page.isLast) return;
    from = page.next;
  }
}

function readPage(engine: Engine, key: Key, from: number): Promise<Page> {
  return withState(engine, key, 'read log', async (state) => {
    if (state === undefined) return { items: [], next: from, isLast: true };
    refuseQuarantined(state);
    return stopOnDamage(engine, state, async () => {
      const items: BatchItem[] = [];
      const start = Math.max(from, state.base);
      let next = start;
      let bytes = 0;
      for await (const { offset, end, raw } of readLines(
        engine.files,
        state,
        start,
        state.filledTo,
      )) {
        items.push({ raw, at: positionOf(state, offset), after: positionOf(state, end) });
        next = end;
        bytes += raw.length;
        if (bytes >= pageBytes) break;
      }
      return { items, next, isLast: next >= state.filledTo };
    });
  });
}
