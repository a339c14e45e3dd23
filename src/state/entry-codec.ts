import { formatTooNew, isMillraceError, messageOf } from '#base';
import { parseCursor, parsePosition, type Key, type Position } from '#record';
import { stateCorrupt } from './errors.ts';
import type { DedupEntry, DedupProgress, DedupStatus, KeyRow, KeyTotals } from './state-store.ts';

/** Version of every stored value here: the first byte of a dedup entry, the member `v` of the others. */
const version = 1;

/**
 * A dedup entry is small because there is one for every id ever seen: version 1, flags 1, ordinal 4, offset 8, length 4, then 32 bytes of
 * content digest where there is one. Numbers are little endian. Flags: bits 0 and 1 status, bit 2 derived, bit 3 digest follows.
 */
const entryBytes = 18;
const digestBytes = 32;
const statuses: readonly DedupStatus[] = ['live', 'dead', 'discarded'];
const derivedFlag = 4;
const digestFlag = 8;
const two32 = 2 ** 32;

/** `room` bytes before it are left to whoever seals it. */
export function encodeDedup(entry: DedupEntry, room = 0): Buffer {
  const digest = entry.contentSha256;
  const bytes = Buffer.allocUnsafe(room + entryBytes + (digest === undefined ? 0 : digestBytes));
  const flags =
    statuses.indexOf(entry.status) |
    (entry.isDerivedId ? derivedFlag : 0) |
    (digest === undefined ? 0 : digestFlag);
  bytes[room] = version;
  bytes[room + 1] = flags;
  bytes.writeUInt32LE(entry.ordinal, room + 2);
  bytes.writeUInt32LE(entry.offset % two32, room + 6);
  bytes.writeUInt32LE(Math.floor(entry.offset / two32), room + 10);
  bytes.writeUInt32LE(entry.length, room + 14);
  if (digest !== undefined) bytes.write(digest, room + entryBytes, 'hex');
  return bytes;
}

export function decodeDedup(stored: Uint8Array, key: Key): DedupEntry {
  const thing = `a dedup entry of ${key}`;
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  if (bytes.length > 0) refuseNewer(bytes.readUInt8(0), thing);
  if (bytes.length < entryBytes) throw stateCorrupt({ thing, reason: `${bytes.length} bytes` });
  const flags = bytes.readUInt8(1);
  const status = statuses[flags & 3];
  const hasDigest = (flags & digestFlag) !== 0;
  if (status === undefined || bytes.length !== entryBytes + (hasDigest ? digestBytes : 0))
    throw stateCorrupt({ thing, reason: `flags ${flags} with ${bytes.length} bytes` });
  return {
    ordinal: bytes.readUInt32LE(2),
    offset: bytes.readUInt32LE(6) + bytes.readUInt32LE(10) * two32,
    length: bytes.readUInt32LE(14),
    status,
    isDerivedId: (flags & derivedFlag) !== 0,
    ...(hasDigest ? { contentSha256: bytes.toString('hex', entryBytes) } : {}),
  };
}

export function encodeProgress({ epoch, indexedThrough }: DedupProgress): Uint8Array {
  return Buffer.from(JSON.stringify({ v: version, epoch, indexedThrough }));
}

/** Of no epoch: the whole log is indexed again. */
export const unreadProgress: Uint8Array = encodeProgress({ epoch: '', indexedThrough: 0 });

export function decodeProgress(stored: Uint8Array, key: Key): DedupProgress {
  const thing = `the dedup progress of ${key}`;
  const { epoch, indexedThrough } = readMembers(stored, thing);
  if (typeof epoch !== 'string' || !isCount(indexedThrough))
    throw stateCorrupt({ thing, reason: 'a member is missing' });
  return { epoch, indexedThrough };
}

export function encodeEpoch(epoch: string): Uint8Array {
  return Buffer.from(JSON.stringify({ v: version, epoch }));
}

export function decodeEpoch(stored: Uint8Array, key: Key): string {
  const thing = `an epoch of ${key}`;
  const { epoch } = readMembers(stored, thing);
  if (typeof epoch !== 'string') throw stateCorrupt({ thing, reason: 'it has no id' });
  return epoch;
}

export function encodeCheckpoint(through: number): Uint8Array {
  return Buffer.from(JSON.stringify({ v: version, through }));
}

export function decodeCheckpoint(stored: Uint8Array): number {
  const thing = 'the checkpoint of the state';
  const { through } = readMembers(stored, thing);
  if (!isCount(through)) throw stateCorrupt({ thing, reason: 'it has no sequence' });
  return through;
}

export function encodeRow(row: KeyRow): Uint8Array {
  return Buffer.from(JSON.stringify({ v: version, ...row }));
}

/** A row whose cursor cannot be built is damaged as a whole: half a state is none (ING-502). */
export function decodeRow(stored: Uint8Array, key: Key): KeyRow {
  const thing = `the row of ${key}`;
  const row = readMembers(stored, thing);
  const { ordinal, epoch, position, sha256, cursor, totals, workspace, session, owner } = row;
  const parsed = parseCursor(cursor);
  if (parsed.cursor === undefined) throw stateCorrupt({ thing, reason: `cursor: ${parsed.fault}` });
  if (!isCount(ordinal) || typeof epoch !== 'string' || !isPosition(position))
    throw stateCorrupt({ thing, reason: 'epoch, ordinal or position is missing' });
  if (!isTextOrNull(sha256) || !isTextOrNull(owner) || !isTotals(totals))
    throw stateCorrupt({ thing, reason: 'digest, owner or totals are missing' });
  if (typeof workspace !== 'string' || typeof session !== 'string')
    throw stateCorrupt({ thing, reason: 'workspace or session is missing' });
  // Rows of the first versions had no such member.
  const { appliedPosition = sha256 === null ? null : position } = row;
  if (appliedPosition !== null && !isPosition(appliedPosition))
    throw stateCorrupt({ thing, reason: 'the applied position is none' });
  const places = { ordinal, epoch, position, appliedPosition, sha256 };
  return { ...places, cursor: parsed.cursor, totals, workspace, session, owner };
}

function readMembers(stored: Uint8Array, thing: string): Readonly<Record<string, unknown>> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(stored);
    const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const { v } = value;
    if (!isCount(v)) throw stateCorrupt({ thing, reason: 'it has no version' });
    refuseNewer(v, thing);
    return value;
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw stateCorrupt({ thing, reason: messageOf(error) }, error);
  }
}

function refuseNewer(found: number, thing: string): void {
  if (found > version) throw formatTooNew({ thing, found, known: version });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function isPosition(value: unknown): value is Position {
  return typeof value === 'string' && parsePosition(value) !== undefined;
}

function isTotals(value: unknown): value is KeyTotals {
  if (typeof value !== 'object' || value === null) return false;
  const members = ['accepted', 'applied', 'dead', 'discarded', 'duplicates'];
  return members.every((member) => isCount((value as Record<string, unknown>)[member]));
}
