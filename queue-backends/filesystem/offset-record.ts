import { join } from 'node:path';
import { canonicalJson, crc32cHex, type JsonValue } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import {
  type AppliedMark,
  type KeyGuard,
  assertHeld,
  offsetCorrupt,
  offsetUnsupported,
} from '#queue';
import { type Cursor, type Key, parseCursor } from '#record';
import type { KeyTotals } from '#state';

/** The checkpointed offset record, version 2 (ING spec §4.2). Its newest form is the key's newest frame; this is the copy that a checkpoint leaves. */
export interface OffsetRecord {
  readonly v: 2;
  readonly min_reader: 2;
  readonly workspace: string;
  readonly session_id: string;
  readonly owner: string | null;
  readonly epoch: string;
  readonly ordinal: number;
  readonly gen: number;
  readonly base: number;
  /** Committed position, as logical offset. */
  readonly offset: number;
  readonly log_end: number;
  readonly log_records: number;
  readonly committed_records: number;
  readonly applied: AppliedMark | null;
  readonly state: 'open' | 'finalizing';
  readonly totals: KeyTotals;
  readonly seq: number;
  /** Sequence of the last journal frame that the record contains: replay goes on after it. */
  readonly frame: number;
  readonly tenure: number;
  readonly cursor: Cursor | null;
}

export const offsetRecordName = 'offset.json';

/** Canonical JSON with its own CRC-32C as last word (ING spec §4.2). */
export function encodeOffsetRecord(record: OffsetRecord): Buffer {
  const value = record as unknown as JsonValue;
  const crc = crc32cHex(Buffer.from(canonicalJson(value), 'utf8'));
  return Buffer.from(`${JSON.stringify({ ...record, crc })}\n`, 'utf8');
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function parseObject(key: Key, bytes: Uint8Array): Record<string, unknown> {
  if (bytes.length === 0) throw offsetCorrupt({ key, reason: 'the file is empty' });
  try {
    const value = JSON.parse(decoder.decode(bytes)) as unknown;
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    throw offsetCorrupt({ key, reason: 'it is not JSON in UTF-8' }, error);
  }
  throw offsetCorrupt({ key, reason: 'it is not a JSON object' });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const countMembers = [
  'ordinal',
  'gen',
  'base',
  'offset',
  'log_end',
  'log_records',
  'committed_records',
  'seq',
  'frame',
  'tenure',
];
const textMembers = ['workspace', 'session_id', 'epoch'];

/** Bytes → record; anything that is not exactly one raises the corrupt class (ING-405, ING-213…218). */
export function decodeOffsetRecord(key: Key, bytes: Uint8Array): OffsetRecord {
  const { crc, ...record } = parseObject(key, bytes);
  const minReader = record['min_reader'];
  if (isCount(minReader) && minReader > 2) throw offsetUnsupported({ key, minReader });
  const expected = crc32cHex(Buffer.from(canonicalJson(record as unknown as JsonValue), 'utf8'));
  if (crc !== expected)
    throw offsetCorrupt({
      key,
      reason: `its checksum is ${String(crc)}, its content has ${expected}`,
    });
  const bad =
    countMembers.find((name) => !isCount(record[name])) ??
    textMembers.find((name) => typeof record[name] !== 'string');
  if (bad !== undefined) throw offsetCorrupt({ key, reason: `its member ${bad} is wrong` });
  const cursor = record['cursor'];
  if (cursor !== null) {
    const parsed = parseCursor(cursor);
    if (parsed.cursor === undefined)
      throw offsetCorrupt({ key, reason: `its cursor cannot be built: ${parsed.fault}` });
  }
  return record as unknown as OffsetRecord;
}

export interface OffsetRecordStore {
  /** Undefined when there is none. */
  read(key: Key, folder: string): Promise<OffsetRecord | undefined>;
  /**
   * The one writer of the file (ING-202…204, QFS-12): takes what is there, refuses to go backwards within an epoch, and replaces it as a whole.
   */
  write(guard: KeyGuard, folder: string, next: OffsetRecord): Promise<void>;
}

export function offsetRecordStore(disk: Disk, names: StagingNames): OffsetRecordStore {
  async function read(key: Key, folder: string): Promise<OffsetRecord | undefined> {
    const bytes = await disk.readFile(join(folder, offsetRecordName));
    return bytes === undefined ? undefined : decodeOffsetRecord(key, bytes);
  }
  return {
    read,
    async write(guard, folder, next) {
      assertHeld(guard);
      const current = await read(guard.key, folder);
      const isBackwards =
        current !== undefined &&
        current.epoch === next.epoch &&
        (current.offset > next.offset || current.seq > next.seq);
      if (isBackwards)
        throw offsetCorrupt({
          key: guard.key,
          reason: `the file is at ${current.offset} (write ${current.seq}), ahead of ${next.offset} (write ${next.seq}): somebody else wrote it`,
        });
      await atomicReplace(disk, join(folder, offsetRecordName), encodeOffsetRecord(next), names);
    },
  };
}
