import { crc32c, formatTooNew } from '#base';
import { readUInt64, writeUInt64 } from './frame.ts';

/**
 * A segment begins with 64 bytes, little endian:
 *
 * | at | size | what |
 * |---|---|---|
 * | 0 | 8 | `MILLRACE` |
 * | 8 | 4 | format version, 1 |
 * | 12 | 4 | salt |
 * | 16 | 8 | tenure generation that made the file |
 * | 24 | 8 | number |
 * | 32 | 8 | sequence of its first frame |
 * | 40 | 8 | low-water mark known when it was begun |
 * | 48 | 12 | 0 |
 * | 60 | 4 | CRC-32C of the 60 bytes before |
 */
export const segmentHeaderBytes = 64;
export const segmentVersion = 1;
const magic = Buffer.from('MILLRACE', 'latin1');

export interface SegmentHeader {
  readonly salt: number;
  readonly generation: number;
  readonly number: number;
  readonly firstSequence: number;
  readonly mark: number;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes);
  magic.copy(bytes);
  bytes.writeUInt32LE(segmentVersion, 8);
  bytes.writeUInt32LE(header.salt, 12);
  writeUInt64(bytes, header.generation, 16);
  writeUInt64(bytes, header.number, 24);
  writeUInt64(bytes, header.firstSequence, 32);
  writeUInt64(bytes, header.mark, 40);
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, 60)), 60);
  return bytes;
}

/** Undefined for a segment that was never begun or whose header is torn; a newer format is refused by name. */
export function decodeSegmentHeader(bytes: Buffer, name: string): SegmentHeader | undefined {
  if (bytes.length < segmentHeaderBytes || !bytes.subarray(0, 8).equals(magic)) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32LE(60)) return undefined;
  const version = bytes.readUInt32LE(8);
  if (version > segmentVersion)
    throw formatTooNew({ thing: `journal segment ${name}`, found: version, known: segmentVersion });
  return {
    salt: bytes.readUInt32LE(12),
    generation: readUInt64(bytes, 16),
    number: readUInt64(bytes, 24),
    firstSequence: readUInt64(bytes, 32),
    mark: readUInt64(bytes, 40),
  };
}

/** `<generation>-<number>.wal`, fixed widths so that a listing is in order. */
export function segmentName(generation: number, number: number): string {
  return `${String(generation).padStart(10, '0')}-${String(number).padStart(10, '0')}.wal`;
}

export function parseSegmentName(
  name: string,
): { readonly generation: number; readonly number: number } | undefined {
  const match = /^(\d{10})-(\d{10})\.wal$/.exec(name);
  return match === null ? undefined : { generation: Number(match[1]), number: Number(match[2]) };
}
