import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `use` with a fresh folder and removes it afterwards, whatever happened. */
export async function withTemporaryDirectory<T>(use: (path: string) => Promise<T> | T): Promise<T> {
  const path = await mkdtemp(join(tmpdir(), 'millrace-'));
  try {
    return await use(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}
