import type { KeyGuard } from '#queue';
import type { Engine } from '../engine.ts';
import type { KeyState } from './key-state.ts';
import type { OffsetRecord } from './offset-record.ts';
import { recordOf } from './record-of.ts';

/** Makes the session folder: generation file, offset record, and only then a log may follow (ING-125). */
export async function makeFolder(engine: Engine, state: KeyState, guard: KeyGuard): Promise<void> {
  const { files, records, options } = engine;
  await files.makeFolder(state);
  const opening: OffsetRecord = {
    ...recordOf(state, { tenure: 0, sequence: 0 }, options.permit.generation),
    offset: state.base,
    log_end: state.base,
    log_records: 0,
    committed_records: 0,
    totals: state.baseTotals,
    seq: 0,
    cursor: state.baseCursor,
  };
  await records.write(
    state.key,
    files.folderOf(state.key),
    (current) => (current?.epoch === state.epoch ? current : opening),
    { held: guard, overDamage: state.isRecordRetold },
  );
  state.hasFolder = true;
}
