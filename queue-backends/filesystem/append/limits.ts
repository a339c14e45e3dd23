import {
  type AppendInput,
  type KeyLoad,
  assertRoom,
  diskFull,
  queueFull,
  queueWriteFailed,
  recordFraming,
  sessionQuarantined,
} from '#queue';
import type { Storable } from './admission.ts';
import type { Engine } from '../engine.ts';
import { bytesToDrain } from '../space-watch.ts';
import type { KeyState } from '../session/key-state.ts';
import { framingFault, storedBytes } from '../session/stored-line.ts';

/** Bytes on their way to the disk at most; beyond it callers are told "later" (P9). */
const queuedBytesMax = 64 * 1024 * 1024;
/** Stored lines in memory at most: what the session files did not take yet, when their disk fails or is slow. */
const tailBytesMax = 256 * 1024 * 1024;
/** Event ids in memory at most that the state store did not take yet. */
const waitingIdsMax = 200_000;
/** Half of the journal, which is four segments or more: above it, keys that cannot be checkpointed take no more (QFS-11). */
const copiedSegmentsMax = 2;

export function checkFraming(records: readonly AppendInput[]): void {
  let index = 0;
  for (const { raw } of records) {
    const reason = framingFault(raw);
    if (reason !== undefined) throw recordFraming({ index, reason });
    index += 1;
  }
}

/** Quotas for a whole request, before anything of it is handed over (ING-023). */
export function checkRoom(engine: Engine, storable: readonly Storable[]): void {
  if (storable.length === 0) return;
  // Nearly every request is one record: nothing has to be summed up by session.
  const [only] = storable;
  if (storable.length === 1 && only !== undefined) {
    checkLoads(engine, [only.state], [loadOf(only.state, storedBytes(only.input.raw))]);
    return;
  }
  const added = new Map<KeyState, number>();
  for (const { state, input } of storable) {
    const bytes = storedBytes(input.raw);
    added.set(state, (added.get(state) ?? 0) + bytes);
  }
  checkLoads(
    engine,
    [...added.keys()],
    [...added].map(([state, bytes]) => loadOf(state, bytes)),
  );
}

function checkLoads(engine: Engine, states: readonly KeyState[], loads: readonly KeyLoad[]): void {
  assertRoom(engine.options.limits, engine.backlogBytes + engine.journal.queuedBytes, loads);
  for (const state of states) if (state.isStuck) checkCarried(engine, state);
  let total = 0;
  for (const { addedBytes } of loads) total += addedBytes;
  checkMemory(engine, total);
  checkSpace(engine, total);
}

/** Appends stop while commits, dead letters and the graph still have the room to empty the queue (QFS-30). */
function checkSpace({ space }: Engine, total: number): void {
  const freeBytes = space.freeBytes();
  const limitBytes = space.keptBytes + bytesToDrain(total);
  if (freeBytes - total < limitBytes) throw diskFull({ freeBytes, limitBytes });
  space.take(total);
}

function loadOf(state: KeyState, addedBytes: number): KeyLoad {
  const load = { key: state.key, backlogBytes: state.nextOffset - state.committed, addedBytes };
  return state.quarantine === null ? load : { ...load, quarantine: state.quarantine.code };
}

function checkMemory(engine: Engine, total: number): void {
  const { queuedBytes } = engine.journal;
  if (queuedBytes > 0 && queuedBytes + total > queuedBytesMax)
    throw queueFull({
      limit: 'bytes on their way to the disk',
      usedBytes: queuedBytes,
      limitBytes: queuedBytesMax,
    });
  const tailBytes = engine.table.memory.bytes;
  if (tailBytes > 0 && tailBytes + queuedBytes + total > tailBytesMax)
    throw queueFull({
      limit: 'bytes that wait for their session files',
      usedBytes: tailBytes,
      limitBytes: tailBytesMax,
    });
  if (engine.indexer.waitingCount > waitingIdsMax)
    throw queueWriteFailed({ reason: 'too many event ids wait for the state store' });
}

/** A key whose files cannot be written lives in the journal alone, and may not fill it. */
function checkCarried(engine: Engine, state: KeyState): void {
  if (engine.copiedBytes <= copiedSegmentsMax * engine.options.limits.segmentBytes) return;
  const keys = [state.key];
  if (state.quarantine === null)
    throw queueWriteFailed({ reason: 'its session files cannot be written', keys });
  throw sessionQuarantined({
    keys,
    reason: `${state.quarantine.code}, and the journal is full of it`,
  });
}
