import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import {
  bareFiles,
  judgeFile,
  judgeLeft,
  layoutOf,
  leaveClosingNote,
  parseClosingNote,
  takeClosingNote,
  type LeftFile,
  type RootLayout,
} from '#roots';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const disk = nodeDisk();
const means = { disk, clock: systemClock, names: stagingNames(process.pid, systemChance) };
const left: LeftFile = { bytes: 10, sha256: 'aa', inode: 1, modifiedMs: 5 };
const large: LeftFile = { ...left, sha256: null };

describe('what a stop in order left', () => {
  it.each([
    ['the same bytes elsewhere', left, { ...left, inode: 2, modifiedMs: 6 }, 'same'],
    ['a flipped byte', left, { ...left, sha256: 'ab' }, 'changed'],
    ['another length', left, { ...left, bytes: 9 }, 'changed'],
    ['a large file that nobody has touched', large, large, 'same'],
    ['a large file of another time', large, { ...large, modifiedMs: 6 }, 'unknown'],
    ['a large file in another place', large, { ...large, inode: 2 }, 'unknown'],
    ['a file that is gone', left, undefined, 'unknown'],
  ])('tells %s', (_, was, found, verdict) => {
    expect(judgeFile(was, found)).toBe(verdict);
  });

  it.each(['', '{', '[]', '{"v":2,"files":{}}', '{"v":1}'])('says nothing as %j', (text) => {
    expect(parseClosingNote(Buffer.from(text))).toBeUndefined();
  });

  it('is a member too little, and that file alone is not known', () => {
    const text = '{"v":1,"has_agreed":true,"files":{"graph":{"bytes":1,"sha256":"a","inode":1}}}';
    expect(parseClosingNote(Buffer.from(text))).toEqual({ hasAgreed: true, files: {} });
  });
});

async function withStores(act: (layout: RootLayout) => Promise<void>): Promise<void> {
  await withTemporaryDirectory(async (folder) => {
    const layout = layoutOf(folder);
    await mkdir(layout.maintenance);
    for (const path of Object.values(bareFiles(layout))) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'bytes of a store');
    }
    await act(layout);
  });
}

describe('a closing note', () => {
  it('is taken once, and knows every changed byte of the three stores (P7)', () =>
    withStores(async (layout) => {
      await leaveClosingNote(means, layout, true);
      const note = await takeClosingNote(disk, layout);
      expect(note?.hasAgreed).toBe(true);
      expect(await takeClosingNote(disk, layout)).toBeUndefined();
      expect(await judgeLeft(disk, layout, note)).toEqual({
        control: 'same',
        state: 'same',
        graph: 'same',
      });
      const path = bareFiles(layout).state;
      const bytes = await readFile(path);
      bytes[3] = (bytes[3] ?? 0) ^ 4;
      await writeFile(path, bytes);
      expect(await judgeLeft(disk, layout, note)).toEqual({
        control: 'same',
        state: 'changed',
        graph: 'same',
      });
    }));

  it('does not vouch for a database beside which a write-ahead log waits', () =>
    withStores(async (layout) => {
      await leaveClosingNote(means, layout, true);
      const note = await takeClosingNote(disk, layout);
      await writeFile(`${layout.graphDatabase}-wal`, 'frames');
      expect((await judgeLeft(disk, layout, note)).graph).toBe('unknown');
    }));

  it('vouches for nothing where there was none', () =>
    withStores(async (layout) => {
      const verdicts = await judgeLeft(disk, layout, undefined);
      expect(new Set(Object.values(verdicts))).toEqual(new Set(['unknown']));
      expect(join(layout.root, '.maintenance', 'closed.json')).toBe(layout.closingNote);
    }));
});
