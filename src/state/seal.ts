import { crc32c } from '#base';

/**
 * Every value that is stored has a checksum of its key and itself before it: LMDB keeps none per page, and a byte that a disk has changed would be read as
 * if it had been written. Version 2 (1 byte), CRC-32C (4 bytes, little endian), the value. One of version 1 has no seal: it begins with 1 or a brace.
 */
const sealedVersion = 2;
export const sealBytes = 5;
const bareFirstBytes: ReadonlySet<number | undefined> = new Set([1, 0x7b]);

export function seal(key: Uint8Array, value: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(sealBytes + value.byteLength);
  sealed.set(value, sealBytes);
  return sealInPlace(key, sealed);
}

/** For a value that stands behind room for its seal. */
export function sealInPlace(key: Uint8Array, bytes: Buffer): Buffer {
  bytes[0] = sealedVersion;
  bytes.writeUInt32LE(crc32c(bytes.subarray(sealBytes), crc32c(key)), 1);
  return bytes;
}

/** The value of a stored one, or what is wrong with it. */
export type Unsealed =
  | { readonly value: Uint8Array; readonly isSealed: boolean }
  | { readonly fault: string };

export function unseal(key: Uint8Array, stored: Uint8Array): Unsealed {
  if (bareFirstBytes.has(stored[0])) return { value: stored, isSealed: false };
  if (stored[0] !== sealedVersion || stored.byteLength < sealBytes)
    return { fault: 'it has no checksum' };
  const value = stored.subarray(sealBytes);
  const told = new DataView(stored.buffer, stored.byteOffset).getUint32(1, true);
  return told === crc32c(value, crc32c(key))
    ? { value, isSealed: true }
    : { fault: 'its checksum does not match' };
}
