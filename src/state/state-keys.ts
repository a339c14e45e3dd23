import { createHash } from 'node:crypto';
import { assert } from '#base';
import type { Key } from '#record';

/** Keys of the store are short, whatever a client sends: a queue key has at most 160 bytes (ING-110), an id becomes 16 (ING-516). */
const keyBytesMax = 160;
const idBytes = 16;

export function bytesOfKey(key: Key): Buffer {
  const bytes = Buffer.from(key, 'latin1');
  assert(bytes.length > 0 && bytes.length <= keyBytesMax, `${key} is a queue key`);
  return bytes;
}

/** The key, a zero byte, which no key holds, and the first 16 bytes of the id's SHA-256. */
export function bytesOfId(key: Key, eventId: string): Buffer {
  const id = createHash('sha256').update(eventId).digest().subarray(0, idBytes);
  return Buffer.concat([bytesOfKey(key), Buffer.of(0), id]);
}
