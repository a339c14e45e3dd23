import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { KeyGuard } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import type { KeyState } from '../session/key-state.ts';
import { makeFolder } from '../session/make-folder.ts';

const packed = promisify(gzip);
/** Packed one after another: a gzip file may have any number of members, and memory does not follow the log. */
const memberBytes = 1024 * 1024;

export const archivePattern: RegExp = /^archive\.\d{8}\.\d{6}\.jsonl\.gz$/;

/** Where a log generation is kept once it is gone: beside it, named by the epoch's ordinal and its own number, so that names sort as the records did. */
export function archivePath(
  engine: Pick<Engine, 'files'>,
  key: Key,
  { ordinal, gen }: Pick<KeyState, 'ordinal' | 'gen'>,
): string {
  const [first, second] = [String(ordinal).padStart(8, '0'), String(gen).padStart(6, '0')];
  return join(engine.files.folderOf(key), `archive.${first}.${second}.jsonl.gz`);
}

/**
 * Keeps the part of a log that is about to go, with `queue.archive` (D31): from where its file begins up to `to`. Durable before the frame that lets
 * it go; done again after a crash, it is the same file.
 */
export async function archiveLog(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  to: number,
): Promise<void> {
  const { isArchiving, disk, names } = engine.options;
  if (isArchiving?.() !== true || to <= state.base) return;
  if (!state.hasFolder) await makeFolder(engine, state, guard);
  await engine.filler.fillNow(state, guard);
  const path = archivePath(engine, state.key, state);
  const staging = names.nextFor(path);
  const file = await disk.open(staging, 'create');
  try {
    let at = 0;
    for (let from = state.base; from < to; from += memberBytes) {
      const bytes = await engine.files.read(state, from, Math.min(memberBytes, to - from));
      const member = await packed(bytes);
      await file.writeAt([member], at);
      at += member.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(staging, path);
  await disk.syncDirectory(dirname(path));
  for (const above of engine.files.foldersAbove(state.key)) await disk.syncDirectory(above);
}
