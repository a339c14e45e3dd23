import { createHash } from 'node:crypto';

/** The unit of order, and the queue's key: encoded workspace + session id (ING-110). */
export type Key = string & { readonly __key: unique symbol };

/** The two ids a key was made of. */
export interface KeyParts {
  readonly workspace: string;
  readonly session: string;
}

/** `hashed` is for case-insensitive file systems (ING-112). */
export type KeyEncoding = 'plain' | 'hashed';

/** Bytes of the longest plain key; with a suffix it still fits every file system's 255. */
const plainKeyBytesMax = 160;
const hashedPattern = /^h_[0-9a-f]{64}$/;
const plainPattern = /^(?:[A-Za-z0-9_-]|%[0-9A-F]{2})+~(?:[A-Za-z0-9_-]|%[0-9A-F]{2})+$/;

/** Injective, file-safe, and reversible while short (ING-110, ING-P04). Both ids are well-formed Unicode (ING-111). */
export function encodeKey(
  workspace: string,
  session: string,
  encoding: KeyEncoding = 'plain',
): Key {
  const joined = `${percentEncode(workspace)}~${percentEncode(session)}`;
  const plain = joined.startsWith('h_') ? `%68${joined.slice(1)}` : joined;
  if (encoding === 'plain' && plain.length <= plainKeyBytesMax) return plain as Key;
  return `h_${createHash('sha256').update(plain).digest('hex')}` as Key;
}

/** The ids of a plain key; undefined for a hashed one, whose records keep them, and for a text that is no key. */
export function keyParts(key: string): KeyParts | undefined {
  if (!plainPattern.test(key)) return undefined;
  const [workspace, session] = key.split('~');
  const parts = { workspace: percentDecode(workspace), session: percentDecode(session) };
  if (parts.workspace === undefined || parts.session === undefined) return undefined;
  const { workspace: w, session: s } = { workspace: parts.workspace, session: parts.session };
  return encodeKey(w, s) === key ? { workspace: w, session: s } : undefined;
}

/** Reads a key that came from outside (a path, a folder name); undefined when no ids encode to it. */
export function parseKey(text: string): Key | undefined {
  return hashedPattern.test(text) || keyParts(text) !== undefined ? (text as Key) : undefined;
}

/**
 * Tells of a key, by its text alone, whether it may be of these ids: for whoever looks through a hundred thousand, where taking each apart costs half
 * a second. A hashed key may be of any.
 */
export function keyFilter({
  workspace,
  session,
}: {
  readonly workspace?: string;
  readonly session?: string;
}): (key: Key) => boolean {
  const head = workspace === undefined ? '' : `${percentEncode(workspace)}~`.replace(/^h_/, '%68_');
  const tail = session === undefined ? '' : `~${percentEncode(session)}`;
  return (key) => hashedPattern.test(key) || (key.startsWith(head) && key.endsWith(tail));
}

function percentEncode(text: string): string {
  // encodeURIComponent leaves eight marks as they are; `.` and `~` must not forge a suffix or the joint.
  return encodeURIComponent(text).replace(
    /[!'()*.~]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function percentDecode(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const bytes = Buffer.from(
    text.replace(/%([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    'latin1',
  );
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : undefined;
}
