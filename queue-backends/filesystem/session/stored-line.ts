import { crc32c, hexOfCrc, writeHexOfCrc } from '#base';

/** A stored line is the record with one member more at its end, `crc` (CRC-32C of the bytes before it), and a line break (QFS-10). */
const crcMember = Buffer.from(',"crc":"', 'latin1');
const tail = Buffer.from('"}\n', 'latin1');
const crcDigits = 8;
/** Bytes that a record grows by when it is stored. */
export const storedExtraBytes: number = crcMember.length + crcDigits + tail.length - 1;

/** Why a record cannot be stored as one line; undefined when it can. */
export function framingFault(raw: Uint8Array): string | undefined {
  if (raw.length < 3) return 'it is empty';
  if (raw[0] !== 0x7b || raw[raw.length - 1] !== 0x7d) return 'it is not a JSON object';
  if (raw.includes(0x0a)) return 'it contains a line break';
  return undefined;
}

export function storedBytes(raw: Uint8Array): number {
  return raw.length + storedExtraBytes;
}

/** Writes the stored form of `raw` at `at`, `storedBytes(raw)` long, and returns the CRC of all of it: the frame around it needs no second look. */
export function writeStored(buffer: Buffer, at: number, raw: Uint8Array): number {
  const body = raw.length - 1;
  buffer.set(raw, at);
  const crc = crc32c(raw.subarray(0, body));
  const behind = at + body;
  let end = behind + crcMember.copy(buffer, behind);
  end = writeHexOfCrc(buffer, end, crc);
  end += tail.copy(buffer, end);
  return crc32c(buffer.subarray(behind, end), crc);
}

/** The record in a stored line (line break included or not); undefined when its checksum or form is wrong. */
export function readStored(line: Uint8Array): Uint8Array | undefined {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const end = bytes[bytes.length - 1] === 0x0a ? bytes.length - 1 : bytes.length;
  const body = end - (storedExtraBytes - 1) - 1;
  if (body < 2 || bytes[end - 1] !== 0x7d || bytes[end - 2] !== 0x22) return undefined;
  if (bytes.compare(crcMember, 0, crcMember.length, body, body + crcMember.length) !== 0)
    return undefined;
  const stored = bytes.toString(
    'latin1',
    body + crcMember.length,
    body + crcMember.length + crcDigits,
  );
  if (stored !== hexOfCrc(crc32c(bytes.subarray(0, body)))) return undefined;
  return rawOf(bytes, body);
}

/** The record in a stored line, line break included, that this process made and never gave away: its checksum needs no look. */
export function recordOfOwn(line: Uint8Array): Uint8Array {
  return rawOf(line, line.length - storedExtraBytes - 1);
}

function rawOf(line: Uint8Array, bodyBytes: number): Uint8Array {
  const raw = Buffer.allocUnsafe(bodyBytes + 1);
  raw.set(line.subarray(0, bodyBytes), 0);
  raw[bodyBytes] = 0x7d;
  return raw;
}
