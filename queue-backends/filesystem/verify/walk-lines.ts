import { type Disk, type DiskFile, platformCode } from '#disk';

/** One line of a file as it stands there, line break included where it has one. */
export interface WalkedLine {
  readonly start: number;
  readonly end: number;
  /** Undefined for a line beyond `lineBytesMax`: it was passed over. */
  readonly bytes: Buffer | undefined;
  readonly isTerminated: boolean;
}

const chunkBytes = 256 * 1024;
/** Far above the largest record; what is longer is damage, and is not held. */
export const lineBytesMax: number = 256 * 1024 * 1024;
const newline = 0x0a;

/** All lines of a file, split at byte 0x0A alone (D14), in bounded memory. A missing file has none. */
export async function* walkLines(
  disk: Disk,
  path: string,
  bytesMax: number = lineBytesMax,
): AsyncGenerator<WalkedLine> {
  const file = await openIfThere(disk, path);
  if (file === undefined) return;
  try {
    let parts: Buffer[] = [];
    let held = 0;
    let start = 0;
    let at = 0;
    let isLong = false;
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const count = await file.readAt(chunk, at);
      if (count === 0) break;
      let from = 0;
      for (;;) {
        const found = chunk.subarray(0, count).indexOf(newline, from);
        if (found < 0) break;
        const end = at + found + 1;
        const last = chunk.subarray(from, found + 1);
        const bytes = isLong ? undefined : Buffer.concat([...parts, last]);
        yield { start, end, bytes, isTerminated: true };
        [parts, held, start, isLong] = [[], 0, end, false];
        from = found + 1;
      }
      held += count - from;
      if (held > bytesMax) [parts, isLong] = [[], true];
      if (!isLong && from < count) parts.push(chunk.subarray(from, count));
      at += count;
    }
    if (at > start) {
      const bytes = isLong ? undefined : Buffer.concat(parts);
      yield { start, end: at, bytes, isTerminated: false };
    }
  } finally {
    await file.close();
  }
}

/** A file that a running daemon takes away between two of our steps is a missing one. */
async function openIfThere(disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, 'read');
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
