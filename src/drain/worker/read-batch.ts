import type { Batch } from '#queue';
import type { Engine } from '../engine.ts';
import type { Worker } from './worker.ts';

/** A batch whose bytes are held until `release`. */
export interface HeldBatch {
  readonly batch: Batch;
  release(): void;
}

/**
 * The only place of the drain that reads the queue (ING-406): the main read, the re-check before a worker leaves, and the tail after
 * `session:end` all meet the same answer to a failing read, in `run-worker.ts`.
 */
export async function readBatch(engine: Engine, worker: Worker): Promise<HeldBatch> {
  const { batchRecordsMax, batchBytesMax } = engine.settings;
  await engine.pace.turn();
  let readBytes = 0;
  await engine.held.take(batchBytesMax);
  let heldBytes = batchBytesMax;
  const release = (): void => {
    engine.held.give(heldBytes);
    heldBytes = 0;
  };
  try {
    const max = { records: batchRecordsMax, bytes: batchBytesMax };
    const batch = await engine.queue.readBatch(worker.key, max);
    readBytes = batch.items.reduce((sum, { raw }) => sum + raw.length, 0);
    engine.held.give(heldBytes - readBytes);
    heldBytes = readBytes;
    return { batch, release };
  } catch (error) {
    release();
    throw error;
  } finally {
    engine.pace.began(readBytes);
  }
}
