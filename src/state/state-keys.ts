import { hash } from 'node:crypto';
import { assert } from '#base';
import type { Key } from '#record';

/** Keys of the store are short, whatever a client sends: a queue key has at most 160 bytes (ING-110), an id becomes 16 (ING-516). */
const keyBytesMax = 160;
const idBytes = 16;

/** The one entry of its table. */
export const checkpointKey: Buffer = Buffer.from('through', 'latin1');

export function bytesOfKey(key: Key): Buffer {
  const bytes = Buffer.from(key, 'latin1');
  assert(bytes.length > 0 && bytes.length <= keyBytesMax, `${key} is a queue key`);
  return bytes;
}

/** The key, a zero byte, and the ordinal of an epoch, big endian. */
export function bytesOfEpoch(key: Key, ordinal: number): Buffer {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(ordinal);
  return Buffer.concat([bytesOfKey(key), Buffer.of(0), number]);
}

/** SHA-256 as Latin-1, by which the ids of a key are in order. In one call: 1 µs where a Hash object takes 5. */
export function hashOfId(eventId: string): string {
  return hash('sha256', eventId, 'binary');
}

/** The key, a zero byte, which no key holds, and the first 16 bytes of the id's hash. */
export function bytesOfId(key: Key, eventId: string, idHash: string = hashOfId(eventId)): Buffer {
  assert(key.length > 0 && key.length <= keyBytesMax, `${key} is a queue key`);
  const bytes = Buffer.allocUnsafe(key.length + 1 + idBytes);
  bytes.write(key, 0, 'latin1');
  bytes[key.length] = 0;
  bytes.write(idHash, key.length + 1, idBytes, 'latin1');
  return bytes;
}

/** Where the ids of a key begin and end in the order of the store. */
export function firstIdOf(key: Key): Buffer {
  return Buffer.concat([bytesOfKey(key), Buffer.of(0)]);
}

export function endOfIds(key: Key): Buffer {
  return Buffer.concat([bytesOfKey(key), Buffer.of(1)]);
}

/** The least key behind this one. */
export function justAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}
