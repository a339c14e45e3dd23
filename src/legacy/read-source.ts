import { platformCode, type Disk } from '#disk';
import { splitLines, type SourceLine } from '#formats';

const chunkBytes = 256 * 1024;

/** Lines of a source file, opened for reading alone; none when it went away meanwhile. In bounded memory. */
export async function* readSource(
  disk: Disk,
  path: string,
  maxLineBytes: number,
): AsyncGenerator<SourceLine> {
  yield* splitLines(readChunks(disk, path), { maxLineBytes });
}

async function* readChunks(disk: Disk, path: string): AsyncGenerator<Uint8Array> {
  let file;
  try {
    file = await disk.open(path, 'read');
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    for (let at = 0; ;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const count = await file.readAt(chunk, at);
      if (count === 0) return;
      yield chunk.subarray(0, count);
      at += count;
    }
  } finally {
    await file.close();
  }
}

/** True when a line may begin at `offset`: it is 0, or a line break stands before it. */
export async function isLineStart(disk: Disk, path: string, offset: number): Promise<boolean> {
  if (offset === 0) return true;
  const file = await disk.open(path, 'read');
  try {
    const before = Buffer.alloc(1);
    return (await file.readAt(before, offset - 1)) === 1 && before[0] === 0x0a;
  } finally {
    await file.close();
  }
}
