import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { openLmdbState } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const writerScript = fileURLToPath(new URL('full-disk-writer.ts', import.meta.url));
/** In blocks of 512 or 1024 bytes, as the shell has it. */
const limited = 'trap \'\' XFSZ; ulimit -f 2048; exec "$@"';

interface Story {
  readonly flushed: number;
  readonly seen: number;
  readonly code: string;
  readonly message: string;
  readonly uncaught: readonly string[];
}

describe('state on a disk without room', () => {
  it.each(['close', 'flush', 'write', 'beside'])(
    'refuses the write as one to try again, keeps the flushed ones, and still ends by %s (P1, P9)',
    (ending) =>
      withTemporaryDirectory(async (root) => {
        const directory = join(root, 'state');
        const node = [process.execPath, writerScript, directory, ending];
        const done = spawnSync('sh', ['-c', limited, 'sh', ...node], {
          encoding: 'utf8',
          timeout: 30_000,
        });
        expect(done.signal, done.stderr).toBeNull();
        expect(done.status, done.stderr).toBe(0);
        const story = JSON.parse(done.stdout) as Story;
        expect(story).toMatchObject({
          code: 'STATE_UNAVAILABLE',
          seen: story.flushed,
          uncaught: [],
        });
        expect(story.message).toMatch(/File too large|Input\/output error/);
        expect(story.flushed).toBeGreaterThan(0);
        const again = await openLmdbState({
          directory,
          permit: testPermit(),
          chance: systemChance,
        });
        expect(again.getProgress(testKey())?.indexedThrough).toBe(story.seen);
        expect(again.getDedup(testKey(), `${story.flushed}-199`)?.offset).toBe(story.flushed);
        expect(again.getDedup(testKey(), `${story.seen + 1}-0`)).toBeUndefined();
        await again.close();
      }),
  );
});
