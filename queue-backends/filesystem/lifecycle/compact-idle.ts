import { isMillraceError } from '#base';
import { compactionRefused } from '#queue';
import { compactionDefault, type Engine } from '../engine.ts';
import { compact } from './compaction.ts';

/** Logs that one sweep compacts, one after another: events go before them. */
const compactionsPerSweep = 8;

/**
 * Compacts what has been idle for long enough, longest idle first (ING-808, QFS-14). One sweep for all keys, and no timer, handle or state for
 * any of them: a key stands in the list only while its log is worth it. One that fails comes again after another idle time.
 */
export async function compactIdle(engine: Engine): Promise<void> {
  const { clock, compaction = compactionDefault } = engine.options;
  const now = clock.monotonic();
  let left = compactionsPerSweep;
  for (const [key, sinceMs] of engine.idle) {
    if (left === 0 || now - sinceMs < compaction.idleMs) return;
    if (engine.isClosing || engine.filesGate.isHeld) return;
    left -= 1;
    engine.idle.delete(key);
    try {
      await engine.filesGate.pass(() => compact(engine, key, Math.max(1, compaction.minBytes)));
    } catch (error) {
      // Somebody has used it meanwhile, or stopped it.
      if (compactionRefused.is(error)) continue;
      if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
      engine.idle.set(key, now);
    }
  }
}
