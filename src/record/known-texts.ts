/** Places of a table; a text that falls on another's place takes it. A text is no longer than `longestBytes`, so a table holds 2 MiB at most (P9). */
const places = 4096;
const longestBytes = 512;

/**
 * Texts that come again and again, as sessions, workspaces and names of events do: found by their bytes without making them anew. That takes half as long, a busy
 * daemon keeps one text where it kept one for each record, and whoever looks something up by it finds it by identity.
 */
export class KnownTexts {
  readonly #texts: (string | undefined)[] = Array.from({ length: places });

  /** The bytes MUST be ASCII. */
  textAt(bytes: Buffer, start: number, end: number): string {
    if (end - start > longestBytes) return bytes.toString('latin1', start, end);
    const place = hashOf(bytes, start, end) % places;
    const known = this.#texts[place];
    if (known !== undefined && isAt(known, bytes, start, end)) return known;
    const text = bytes.toString('latin1', start, end);
    this.#texts[place] = text;
    return text;
  }
}

function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  return hash >>> 0;
}

function isAt(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) !== bytes[start + at]) return false;
  return true;
}
