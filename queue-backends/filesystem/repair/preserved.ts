import { join } from 'node:path';
import type { PreservedFile } from '#queue';
import type { Engine } from '../engine.ts';
import type { KeyState } from '../session/key-state.ts';
import { offsetRecordName } from '../session/offset-record.ts';

/** Names only, of files beside the record itself: never a path from a client. */
const evidencePattern = /\.(corrupt|replaced|torn|restored)(\.|$)/;
const namePattern = /^[A-Za-z0-9._-]{1,200}$/;
const offsetBytesMax = 16 * 1024 * 1024;

function isOffsetName(name: string): boolean {
  return (
    namePattern.test(name) && name.startsWith(`${offsetRecordName}.`) && evidencePattern.test(name)
  );
}

/** Evidence in a key's folder, and what an operator has put there as `….restored`. */
export async function preservedFiles(
  engine: Engine,
  state: KeyState,
): Promise<readonly (PreservedFile & { readonly isOffset: boolean })[]> {
  const folder = engine.files.folderOf(state.key);
  const found: (PreservedFile & { readonly isOffset: boolean })[] = [];
  for (const { name, kind } of await engine.options.disk.readDirectory(folder)) {
    if (kind !== 'file' || !evidencePattern.test(name)) continue;
    const stat = await engine.options.disk.stat(join(folder, name));
    found.push({ name, bytes: stat?.size ?? 0, isOffset: isOffsetName(name) });
  }
  return found;
}

/** Undefined for a name that is none, or a file that is not there. */
export async function readPreserved(
  engine: Engine,
  state: KeyState,
  name: string,
): Promise<Uint8Array | undefined> {
  if (!isOffsetName(name)) return undefined;
  const path = join(engine.files.folderOf(state.key), name);
  const stat = await engine.options.disk.stat(path);
  if (stat === undefined || stat.kind !== 'file' || stat.size > offsetBytesMax) return undefined;
  return engine.options.disk.readFile(path);
}
