import { join } from 'node:path';
import { digestFile, listTree, type CopiedFile, type Disk } from '#disk';
import { backupUnreadable } from './errors.ts';
import { manifestName, parseManifest, type Manifest } from './manifest.ts';
import type { BackupProgress } from './sources.ts';

/** A file that is not as the manifest says. */
export interface BackupFinding {
  readonly file: string;
  readonly problem: string;
}

export interface VerifyReport {
  readonly manifest: Manifest;
  readonly findings: readonly BackupFinding[];
}

/** BACKUP_UNREADABLE for a folder without a manifest that can be read: a backup without one does not exist (FEN-706). */
export async function readManifest(disk: Disk, path: string): Promise<Manifest> {
  const bytes = await disk.readFile(join(path, manifestName));
  if (bytes === undefined) throw backupUnreadable({ path, reason: `it has no ${manifestName}` });
  return parseManifest(path, bytes);
}

/** Reads every file again and compares sizes and digests; needs no root and no daemon. */
export async function verifyBackup(
  disk: Disk,
  path: string,
  tell: (progress: BackupProgress) => void = () => undefined,
): Promise<VerifyReport> {
  const manifest = await readManifest(disk, path);
  const findings: BackupFinding[] = [];
  let [files, bytes] = [0, 0];
  for (const expected of manifest.files) {
    const problem = await problemOf(disk, path, expected);
    if (problem !== undefined) findings.push({ file: expected.name, problem });
    files += 1;
    bytes += expected.bytes;
    tell({ step: 'reading', files, bytes });
  }
  const known = new Set([manifestName, ...manifest.files.map(({ name }) => name)]);
  const found = await listTree(disk, path);
  for (const file of [...found.files, ...found.others])
    if (!known.has(file)) findings.push({ file, problem: 'is not in the manifest' });
  return { manifest, findings };
}

async function problemOf(
  disk: Disk,
  path: string,
  { name, bytes, sha256 }: CopiedFile,
): Promise<string | undefined> {
  const found = await digestFile(disk, join(path, ...name.split('/')));
  return differenceOf(found, { bytes, sha256 });
}

/** In words; undefined when it is the same. */
export function differenceOf(
  found: { readonly bytes: number; readonly sha256: string } | undefined,
  expected: { readonly bytes: number; readonly sha256: string },
): string | undefined {
  if (found === undefined) return 'is missing';
  if (found.bytes !== expected.bytes)
    return `has ${found.bytes} bytes instead of ${expected.bytes}`;
  return found.sha256 === expected.sha256 ? undefined : 'has other content than was saved';
}
