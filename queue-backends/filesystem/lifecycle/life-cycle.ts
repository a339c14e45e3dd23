import { cursorCorrupt, type LogLifeCycle } from '#queue';
import type { Cursor, Key } from '#record';
import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type SeedPayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { type KeyState, dirty, isDrained } from '../session/key-state.ts';
import { withState } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { compact } from './compaction.ts';
import { finalise } from './finalise.ts';

export function createLifeCycle(engine: Engine): LogLifeCycle {
  return {
    isFullyDrained: (key) =>
      withState(
        engine,
        key,
        'drained',
        async (state) => state?.isOpen !== true || isDrained(state),
      ),
    // Files go: not while a snapshot is taken of them (D31).
    finalize: (key) => engine.filesGate.pass(() => finalise(engine, key)),
    compactCommittedPrefix: (key, minBytes) =>
      engine.filesGate.pass(() => compact(engine, key, minBytes)),
    seedCursor: (key, cursor) => seed(engine, key, cursor),
  };
}

/** W12: only a cursor that is missing is given one; the position stays. Done again after a crash, the same seed is found (ING-613). */
async function seed(engine: Engine, key: Key, cursor: Cursor): Promise<void> {
  await withState(engine, key, 'seed', async (state) => {
    assertWriter(engine);
    const fault = cursorCorrupt({ key, reason: 'a seed was made for it although it has a cursor' });
    if (state?.isOpen !== true) throw fault;
    while (state.commitInFlight !== undefined) await state.commitInFlight;
    if (state.cursor !== null) throw fault;
    const { epoch: e, ordinal: o, seq } = state;
    const payload: SeedPayload = { k: key, e, o, seq: seq + 1, cursor };
    await submitFrame(engine, frameKinds.seed, encodeJson(payload), () => takeSeed(state, payload));
  });
}

/** What a durable SEED changes; recovery does the same. */
export function takeSeed(state: KeyState, { cursor, seq }: SeedPayload): void {
  state.cursor = cursor;
  state.cursorText = JSON.stringify(cursor);
  state.seq = seq;
  dirty(state);
}
