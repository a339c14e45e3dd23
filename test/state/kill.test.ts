import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { openLmdbState } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const writerScript = fileURLToPath(new URL('state-writer.ts', import.meta.url));
const key = testKey();
const killsCount = 4;
const linesMax = 40;

/** Lets a process write from round `first` on, kills it once it has told of so many flushes, and gives the last flushed round. */
async function writeAndKill(directory: string, first: number, lines: number): Promise<number> {
  const child = spawn(process.execPath, [writerScript, directory, `${first}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let told = '';
  child.stdout.on('data', (bytes: Buffer) => {
    told += bytes.toString('latin1');
    if (told.split('\n').length > lines) child.kill('SIGKILL');
  });
  const [, signal] = (await exited) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  return Number(told.slice(0, told.lastIndexOf('\n')).split('\n').at(-1));
}

describe('state under kill -9', () => {
  it('keeps every flushed write, and of each later one all or nothing (P1, P4)', () =>
    withTemporaryDirectory(async (root) => {
      const directory = join(root, 'state');
      let next = 0;
      for (let kill = 0; kill < killsCount; kill += 1) {
        const lines = 1 + Math.floor(systemChance.float() * linesMax);
        const flushed = await writeAndKill(directory, next, lines);
        expect(flushed).toBeGreaterThanOrEqual(next);
        const state = await openLmdbState({
          directory,
          permit: testPermit(),
          chance: systemChance,
        });
        const through = state.getProgress(key)?.indexedThrough ?? -1;
        expect(through).toBeGreaterThanOrEqual(flushed);
        for (let round = 0; round <= through; round += 1)
          expect(state.getDedup(key, `e${round}`)?.offset).toBe(round);
        expect(state.getDedup(key, `e${through + 1}`)).toBeUndefined();
        await state.close();
        next = through + 1;
      }
    }));

  it('refuses the write of a process that another one has overtaken, inside the transaction (P6, FEN-406)', () =>
    withTemporaryDirectory(async (root) => {
      const directory = join(root, 'state');
      const early = testPermit(0);
      const state = await openLmdbState({ directory, permit: early, chance: systemChance });
      const flushed = await writeAndKill(directory, 0, 1);
      const late = state.write(early, [{ table: 'progress', key, progress: null }]);
      await expect(late).rejects.toMatchObject({ code: 'FENCE_STALE', disposition: 'fenced' });
      expect(state.getProgress(key)?.indexedThrough).toBeGreaterThanOrEqual(flushed);
      await state.close();
    }));
});
