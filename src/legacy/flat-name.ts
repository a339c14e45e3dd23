import { sha256Hex } from '#base';

/** 255 bytes of a file name less the longest suffix that the predecessor adds. */
const nameBytesMax = 211;
const digits = 16;

/**
 * Name of a session's files in the flat form: its id, or where that is no safe file name or too long, what the predecessor's newest line makes of
 * it: `<prefix>~<first 16 hex digits of the SHA-256>`. Pure.
 */
export function flatName(session: string): string {
  const isSafe =
    session !== '' && session !== '.' && session !== '..' && !/[/\\\p{Cc}]/u.test(session);
  if (isSafe && Buffer.byteLength(session) <= nameBytesMax) return session;
  const hash = sha256Hex(Buffer.from(session, 'utf8')).slice(0, digits);
  const room = nameBytesMax - digits - 1;
  let prefix = '';
  for (const character of session.replace(/[/\\\p{Cc}]/gu, '_')) {
    if (Buffer.byteLength(prefix + character) > room) break;
    prefix += character;
  }
  return `${prefix}~${hash}`;
}
