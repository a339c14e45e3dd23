import {
  encodeCheckpoint,
  encodeDedup,
  encodeEpoch,
  encodeProgress,
  encodeRow,
} from './entry-codec.ts';
import { bytesOfEpoch, bytesOfId, bytesOfKey, checkpointKey } from './state-keys.ts';
import { seal, sealBytes, sealInPlace } from './seal.ts';
import type { StateWrite } from './state-store.ts';

export type Table = StateWrite['table'];

/** A write as bytes; without a value the entry goes. */
export interface StatePut {
  readonly table: Table;
  readonly key: Buffer;
  readonly value: Uint8Array | undefined;
}

/** As it is stored. */
export interface SealedPut extends StatePut {
  readonly value: Buffer | undefined;
}

export function puts(writes: readonly StateWrite[]): StatePut[] {
  return writes.map(putOf);
}

/** The same with the values as they are stored. An id has one copy less than the others: there are thousands for each of those. */
export function sealedPuts(writes: readonly StateWrite[]): SealedPut[] {
  return writes.map((write) => {
    if (write.table === 'dedup' && write.entry !== null) {
      const key = bytesOfId(write.key, write.eventId, write.hash);
      const value = sealInPlace(key, encodeDedup(write.entry, sealBytes));
      return { table: write.table, key, value };
    }
    const { table, key, value } = putOf(write);
    return { table, key, value: value === undefined ? undefined : seal(key, value) };
  });
}

function putOf(write: StateWrite): StatePut {
  const { table } = write;
  if (table === 'dedup') {
    const value = write.entry === null ? undefined : encodeDedup(write.entry);
    return { table, key: bytesOfId(write.key, write.eventId, write.hash), value };
  }
  if (table === 'epoch') {
    const value = write.epoch === null ? undefined : encodeEpoch(write.epoch);
    return { table, key: bytesOfEpoch(write.key, write.ordinal), value };
  }
  if (table === 'checkpoint')
    return { table, key: checkpointKey, value: encodeCheckpoint(write.through) };
  const key = bytesOfKey(write.key);
  if (table === 'row')
    return { table, key, value: write.row === null ? undefined : encodeRow(write.row) };
  const value = write.progress === null ? undefined : encodeProgress(write.progress);
  return { table, key, value };
}
