import { crc32c, crc32cCombine, formatTooNew } from '#base';

/**
 * The journal's unit (QFS-01), little endian, padded to 8 bytes so that a scan can find its way again after damage:
 *
 * | at | size | what |
 * |---|---|---|
 * | 0 | 4 | payload length |
 * | 4 | 4 | CRC-32C of the header with this field zero, then the payload |
 * | 8 | 1 | kind |
 * | 9 | 1 | frame version, 1 |
 * | 10 | 2 | 0 |
 * | 12 | 4 | salt of the segment: recycled segments hold old frames |
 * | 16 | 8 | sequence |
 * | 24 | 8 | tenure generation |
 * | 32 | 8 | highest sequence known synced when the frame's group was begun (QFS-06) |
 * | 40 | 4 | index of the frame in its group |
 * | 44 | 4 | frames of the group |
 * | 48 | … | payload |
 */
export const frameHeaderBytes = 48;
export const frameVersion = 1;
const alignment = 8;

/**
 * Kinds of QFS-01. Numbers are on disk and never reused; those without a writer yet keep their place. The outcome of a requeue travels in the
 * APPEND of its record, that of a discard in a COMMIT.
 */
export const frameKinds = {
  append: 1,
  commit: 2,
  mark: 3,
  tenure: 4,
  abandon: 5,
  quarantine: 6,
  quarantineClear: 7,
  generation: 8,
  seed: 9,
  finalise: 10,
  reset: 11,
  outcome: 12,
  requeue: 13,
  /** Frames of keys that a checkpoint could not write, carried to the journal's head (QFS-11). */
  copy: 14,
  /** A session was deleted with all that was kept of it (W11). */
  removal: 15,
} as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

const knownKinds: ReadonlySet<number> = new Set(Object.values(frameKinds));
const kindMax = Math.max(...knownKinds);

export interface FrameHeader {
  readonly kind: FrameKind;
  readonly salt: number;
  readonly sequence: number;
  readonly tenure: number;
  readonly synced: number;
  readonly groupIndex: number;
  readonly groupCount: number;
}

export interface Frame extends FrameHeader {
  readonly payload: Uint8Array;
  /** Bytes that the frame takes in its segment, padding included. */
  readonly bytes: number;
}

export function frameBytes(payloadBytes: number): number {
  return Math.ceil((frameHeaderBytes + payloadBytes) / alignment) * alignment;
}

/** Writes the header in front of a payload that lies at `at + frameHeaderBytes` already, and whose CRC the caller may know. */
export function sealFrame(
  buffer: Buffer,
  at: number,
  payloadBytes: number,
  header: FrameHeader,
  payloadCrc?: number,
): void {
  buffer.writeUInt32LE(payloadBytes, at);
  buffer.writeUInt32LE(0, at + 4);
  buffer.writeUInt8(header.kind, at + 8);
  buffer.writeUInt8(frameVersion, at + 9);
  buffer.writeUInt16LE(0, at + 10);
  buffer.writeUInt32LE(header.salt, at + 12);
  writeUInt64(buffer, header.sequence, at + 16);
  writeUInt64(buffer, header.tenure, at + 24);
  writeUInt64(buffer, header.synced, at + 32);
  buffer.writeUInt32LE(header.groupIndex, at + 40);
  buffer.writeUInt32LE(header.groupCount, at + 44);
  const start = at + frameHeaderBytes;
  const end = start + payloadBytes;
  const crc = payloadCrc ?? crc32c(buffer.subarray(start, end));
  const headerCrc = crc32c(buffer.subarray(at, start));
  buffer.writeUInt32LE(crc32cCombine(headerCrc, crc, payloadBytes), at + 4);
  buffer.fill(0, end, at + frameBytes(payloadBytes));
}

/**
 * The frame at `at`, or undefined when there is no whole, sound frame of this salt. A sound one of a newer version or an unknown kind is
 * refused by name (FORMAT_TOO_NEW): it is no damage, and passing over it would lose what it says.
 */
export function readFrame(bytes: Buffer, at: number, salt: number): Frame | undefined {
  if (at + frameHeaderBytes > bytes.length) return undefined;
  if (bytes.readUInt32LE(at + 12) !== salt) return undefined;
  const payloadBytes = bytes.readUInt32LE(at);
  const end = at + frameHeaderBytes + payloadBytes;
  if (end > bytes.length) return undefined;
  const header = Buffer.from(bytes.subarray(at, at + frameHeaderBytes));
  header.writeUInt32LE(0, 4);
  const payload = bytes.subarray(at + frameHeaderBytes, end);
  if (crc32c(payload, crc32c(header)) !== bytes.readUInt32LE(at + 4)) return undefined;
  return {
    kind: knownKind(bytes.readUInt8(at + 8), bytes.readUInt8(at + 9)),
    salt,
    sequence: readUInt64(bytes, at + 16),
    tenure: readUInt64(bytes, at + 24),
    synced: readUInt64(bytes, at + 32),
    groupIndex: bytes.readUInt32LE(at + 40),
    groupCount: bytes.readUInt32LE(at + 44),
    payload,
    bytes: frameBytes(payloadBytes),
  };
}

function knownKind(kind: number, version: number): FrameKind {
  if (version > frameVersion)
    throw formatTooNew({ thing: 'a journal frame', found: version, known: frameVersion });
  if (!knownKinds.has(kind))
    throw formatTooNew({ thing: 'a journal frame of this kind', found: kind, known: kindMax });
  return kind as FrameKind;
}

/** True when nothing was written at `at` in this life of the segment: zeros, or a frame of an older salt. */
export function isUnwritten(bytes: Buffer, at: number, salt: number): boolean {
  if (at + frameHeaderBytes > bytes.length) return true;
  return bytes.readUInt32LE(at + 12) !== salt;
}

export const frameAlignment: number = alignment;

/** Sequences stay far below 2^53, so two 32-bit halves are exact and cheaper than a bigint. */
export function writeUInt64(buffer: Buffer, value: number, at: number): void {
  buffer.writeUInt32LE(value >>> 0, at);
  buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}

export function readUInt64(buffer: Buffer, at: number): number {
  return buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) * 0x1_0000_0000;
}
