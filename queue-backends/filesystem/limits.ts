import {
  type AppendInput,
  backlogFull,
  queueFull,
  recordFraming,
  sessionQuarantined,
} from '#queue';
import type { Engine } from './engine.ts';
import type { KeyState } from './key-state.ts';
import { framingFault, storedBytes } from './stored-line.ts';

/** How long a look at the file system's free space counts. */
const spaceAgeMsMax = 500;
/** Bytes on their way to the disk at most; beyond it callers are told "later" (P9). */
const queuedBytesMax = 64 * 1024 * 1024;

/** Free space, looked at now and then: a question to the file system is not for every append (QFS-30). */
export class SpaceWatch {
  #freeBytes = Number.POSITIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  freeBytes(engine: Engine): number {
    const now = engine.options.clock.monotonic();
    if (now - this.#lookedAtMs > spaceAgeMsMax && !this.#isLooking) void this.look(engine);
    return this.#freeBytes;
  }

  async look(engine: Engine): Promise<void> {
    this.#isLooking = true;
    try {
      this.#freeBytes = (await engine.options.disk.space(engine.options.directory)).freeBytes;
    } catch {
      // A file system that cannot even be asked will say so at the next write, which fails the request.
      this.#freeBytes = Number.POSITIVE_INFINITY;
    } finally {
      this.#lookedAtMs = engine.options.clock.monotonic();
      this.#isLooking = false;
    }
  }
}

export function checkFraming(records: readonly AppendInput[]): void {
  for (const [index, { raw }] of records.entries()) {
    const reason = framingFault(raw);
    if (reason !== undefined) throw recordFraming({ index, reason });
  }
}

/** Quotas for a whole request, before anything of it is handed over (ING-023). */
export function checkLimits(
  engine: Engine,
  space: SpaceWatch,
  states: ReadonlyMap<KeyState, readonly AppendInput[]>,
): void {
  const { limits } = engine.options;
  let total = 0;
  const full: KeyState[] = [];
  for (const [state, inputs] of states) {
    let bytes = 0;
    for (const { raw } of inputs) bytes += storedBytes(raw);
    total += bytes;
    const backlog = state.nextOffset - state.committed + bytes;
    if (
      state.quarantine !== null &&
      state.nextOffset - state.committed + bytes > limits.quarantineBacklogBytes
    )
      throw sessionQuarantined({
        keys: [state.key],
        reason: `${state.quarantine.code}, and its backlog is full`,
      });
    if (backlog > limits.maxBytesPerKey) full.push(state);
  }
  if (full.length > 0)
    throw backlogFull({
      keys: full.map(({ key }) => key),
      usedBytes: Math.max(...full.map((state) => state.nextOffset - state.committed)),
      limitBytes: limits.maxBytesPerKey,
    });
  if (engine.backlogBytes + engine.journal.queuedBytes + total > limits.maxBytes)
    throw queueFull({
      limit: 'queue.max_bytes',
      usedBytes: engine.backlogBytes,
      limitBytes: limits.maxBytes,
    });
  if (engine.journal.queuedBytes + total > Math.max(queuedBytesMax, total))
    throw queueFull({
      limit: 'bytes on their way to the disk',
      usedBytes: engine.journal.queuedBytes,
      limitBytes: queuedBytesMax,
    });
  const free = space.freeBytes(engine);
  if (free - total < limits.reserveBytes)
    throw queueFull({
      limit: 'queue.reserve_bytes (free space that is kept)',
      usedBytes: free,
      limitBytes: limits.reserveBytes,
    });
}
