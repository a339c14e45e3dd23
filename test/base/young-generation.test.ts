import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

interface Widths {
  readonly ofMain: number;
  readonly ofThread: number;
}

async function widthsOf(...words: readonly string[]): Promise<Widths> {
  const program = fileURLToPath(new URL('./busy-program.ts', import.meta.url));
  const { stderr } = await promisify(execFile)(process.execPath, [
    ...words.slice(1),
    program,
    ...words.slice(0, 1),
  ]);
  return JSON.parse(stderr) as Widths;
}

const boundBytes = 16 * 2 ** 20;

describe('the young generation', () => {
  it('P9: stays at 16 MiB in the main thread of the command line and in the threads that it starts', async () => {
    const { ofMain, ofThread } = await widthsOf('bounded');
    expect(ofMain).toBeLessThanOrEqual(boundBytes);
    expect(ofThread).toBeLessThanOrEqual(boundBytes);
  });

  it('grows as Node lets it where a size was given', async () => {
    const { ofMain, ofThread } = await widthsOf('bounded', '--max-semi-space-size=32');
    expect(Math.max(ofMain, ofThread)).toBeGreaterThan(boundBytes);
  });
});
