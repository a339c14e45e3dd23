import { join } from 'node:path';
import { canonicalJson, crc32cHex, isMillraceError, type JsonValue, unreachable } from '#base';
import { atomicReplace, failpoint } from '#disk';
import { type FencePermit, tenureLost } from '#fence';
import {
  type AppliedMark,
  type KeyGuard,
  type KeyLocks,
  foreignRecord,
  offsetCorrupt,
  offsetUnsupported,
} from '#queue';
import type { Cursor, Key } from '#record';
import type { KeyTotals } from '#state';
import { type EvidenceOptions, keepCopy } from '../evidence.ts';
import type { CountedFrame, LastClear } from './key-state.ts';
import { parseOffset } from './parse-offset.ts';

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
  /** Frames up to this one, of its tenure and of all tenures before, are in the record: replay goes on after them. */
  readonly frame: CountedFrame;
  /** The tenure that wrote it. */
  readonly tenure: number;
  /** The last way out of a quarantine that was taken. */
  readonly last_clear?: LastClear;
  readonly cursor: Cursor | null;
}

/** Only this file names it (ING-202); whoever looks and writes nothing takes the name from here. */
export const offsetRecordName = 'offset.json';

/** Canonical JSON with its own CRC-32C as last word (ING spec §4.2). */
export function encodeOffsetRecord(record: OffsetRecord): Buffer {
  const value = record as unknown as JsonValue;
  const crc = crc32cHex(Buffer.from(canonicalJson(value), 'utf8'));
  return Buffer.from(`${JSON.stringify({ ...record, crc })}\n`, 'utf8');
}

/** Bytes → version 2; anything that is not exactly one raises the corrupt class (ING-405), an older version too: `parseOffset` tells them apart. */
export function decodeOffsetRecord(key: Key, bytes: Uint8Array): OffsetRecord {
  const parsed = parseOffset(bytes);
  switch (parsed.kind) {
    case 'native':
      return parsed.record;
    case 'legacy':
      throw offsetCorrupt({ key, reason: `it is of version ${parsed.version}` });
    case 'unsupported':
      throw offsetUnsupported({ key, minReader: parsed.minReader });
    case 'corrupt':
      throw offsetCorrupt({ key, reason: parsed.reason }, parsed.cause);
    default:
      return unreachable(parsed);
  }
}

export interface WriteHow {
  readonly held?: KeyGuard;
  /** What is there may be damaged and is copied aside first: frames have told its content. */
  readonly overDamage?: boolean;
  /** The position was set anew, by a reset or a way out of quarantine: it may lie before the one that is there (QFS-12). */
  readonly isSetAnew?: boolean;
}

export interface OffsetRecords {
  /** Undefined when there is none; damage raises the corrupt class, and is never read as offset 0. */
  read(key: Key, folder: string): Promise<OffsetRecord | undefined>;
  /**
   * The one writer of the file (ING-202…204, QFS-12): takes the key's lock, or enters it again by `held`, reads what is there, and replaces it
   * as a whole by what `next` makes of it. Refuses to go backwards within an epoch (FOREIGN_RECORD), and a writer that is no longer one
   * (TENURE_LOST).
   */
  write(
    key: Key,
    folder: string,
    next: (current: OffsetRecord | undefined) => OffsetRecord,
    how?: WriteHow,
  ): Promise<OffsetRecord>;
  /** Takes the record of a finalised key away, durably; one that is gone already is fine (ING-804). Refuses like `write`. */
  remove(key: Key, folder: string, how?: WriteHow): Promise<void>;
  /** Copies a damaged file aside, as evidence (ING-409). */
  preserve(folder: string, reason: string): Promise<void>;
  /** Copies the file aside before its position is set anew (ING-219). */
  keepReplaced(folder: string): Promise<void>;
}

export interface OffsetRecordOptions extends EvidenceOptions {
  readonly locks: KeyLocks;
  readonly permit: FencePermit;
}

export function offsetRecords(options: OffsetRecordOptions): OffsetRecords {
  const { disk, names, locks, permit } = options;
  async function read(key: Key, folder: string): Promise<OffsetRecord | undefined> {
    const bytes = await disk.readFile(join(folder, offsetRecordName));
    return bytes === undefined ? undefined : decodeOffsetRecord(key, bytes);
  }
  async function preserve(folder: string, reason: string): Promise<void> {
    await keepCopy(options, join(folder, offsetRecordName), 'corrupt', reason);
  }
  async function keepReplaced(folder: string): Promise<void> {
    const reason = 'the position of its key is set anew';
    await keepCopy(options, join(folder, offsetRecordName), 'replaced', reason);
  }
  async function readOrKeep(key: Key, folder: string): Promise<OffsetRecord | undefined> {
    try {
      return await read(key, folder);
    } catch (error) {
      if (!isMillraceError(error) || error.disposition !== 'corrupt') throw error;
      await preserve(folder, error.message);
      return undefined;
    }
  }
  return {
    read,
    preserve,
    keepReplaced,
    remove: (key, folder, how = {}) =>
      locks.with(
        key,
        (guard) =>
          guard.leaf(async () => {
            const current = await readOrKeep(key, folder);
            assertTenure(permit, current?.tenure ?? 0);
            const path = join(folder, offsetRecordName);
            if ((await disk.stat(path)) === undefined) return;
            await disk.unlink(path);
            await disk.syncDirectory(folder);
          }),
        how.held,
        'offset record',
      ),
    write: (key, folder, next, how = {}) =>
      locks.with(
        key,
        (guard) =>
          guard.leaf(async () => {
            const current = await (how.overDamage === true ? readOrKeep : read)(key, folder);
            const record = next(current);
            if (current !== undefined && how.isSetAnew !== true)
              refuseBackwards(key, current, record);
            await failpoint('checkpoint:before-record');
            assertTenure(permit, current?.tenure ?? 0);
            await atomicReplace(
              disk,
              join(folder, offsetRecordName),
              encodeOffsetRecord(record),
              names,
            );
            return record;
          }),
        how.held,
        'offset record',
      ),
  };
}

/** The check that stands right before the rename (ING-236): a higher tenure in the file is a writer after us. */
function assertTenure(permit: FencePermit, found: number): void {
  const { domain, generation, isLive } = permit;
  if (!isLive) throw tenureLost({ domain, generation, reason: 'the permit is no longer live' });
  if (found > generation)
    throw tenureLost({ domain, generation, reason: `an offset record is of tenure ${found}` });
}

function refuseBackwards(key: Key, current: OffsetRecord, next: OffsetRecord): void {
  if (current.epoch !== next.epoch) return;
  if (current.offset > next.offset || current.seq > next.seq)
    throw foreignRecord({ key, found: current.seq, known: next.seq });
}
