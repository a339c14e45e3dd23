import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../bin/millrace.js');

describe('a verb whose reader has gone', () => {
  it('ends quietly, as behind `| head`', async () => {
    const child = spawn(process.execPath, [program, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const told: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => told.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, Buffer.concat(told).toString('utf8')]).toEqual([0, '']);
  });
});
