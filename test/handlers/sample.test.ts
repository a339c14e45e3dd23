import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../data');

function read(path: string): Buffer {
  return readFileSync(join(root, path));
}

const listed = new Map(
  read('SHA256.txt')
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => [line.slice(66), line.slice(0, 64)] as const),
);

const present = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  .filter((path) => path.includes('/'));

describe('sample files', () => {
  it('are byte for byte what their list of checksums says', () => {
    const wrong = [...listed].filter(
      ([path, sum]) => createHash('sha256').update(read(path)).digest('hex') !== sum,
    );
    expect(wrong).toEqual([]);
    expect(listed.size).toBeGreaterThan(15);
  });

  it('are all named in the manifest, with source and licence', () => {
    const manifest = read('MANIFEST.md').toString('utf8');
    const unnamed = present.filter(
      (path) => !manifest.includes(`**${path}**`) && !path.startsWith('golden/'),
    );
    expect(unnamed).toEqual([]);
    expect(manifest).toContain('**golden/**');
  });

  it('lists every file that is there, the golden ones too', () => {
    expect(present.filter((path) => !listed.has(path)).sort()).toEqual(unlisted);
  });
});

/** Written for this repository: read, not compared. */
const unlisted: readonly string[] = ['golden/README.md'];
