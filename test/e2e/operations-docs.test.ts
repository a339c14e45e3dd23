import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { postLines, waitUntilIdle } from '../support/daemon-client.ts';
import { readText, repositoryRoot } from '../tidy/source-tree.ts';

const run = promisify(execFile);

/** Commands of docs/operations.md that are there to be typed as they are. */
const commands = [...readText('docs/operations.md').matchAll(/```bash\n([\s\S]*?)```/g)].flatMap(
  (match) => (match[1] ?? '').split('\n').filter((line) => line.trim() !== ''),
);
const folder = mkdtempSync(join(tmpdir(), 'millrace-operations-'));
let daemon: ChildDaemon;

beforeAll(async () => {
  const program = join(repositoryRoot, 'bin/millrace.js');
  chmodSync(program, 0o755);
  symlinkSync(program, join(folder, 'millrace'));
  daemon = await startDaemon({ root: join(folder, 'root') });
  await postLines(daemon.url, [
    '{"event":"session:start","workspace":"w","data":{"session_id":"s1","timestamp":"2026-05-01T10:00:00Z"}}',
  ]);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

describe('what operators do', () => {
  it('has ten rows, and a command for each', () => {
    const rows = readText('docs/operations.md').match(/^\| \d+\. /gm) ?? [];
    expect(rows).toHaveLength(10);
    expect(commands.length).toBeGreaterThanOrEqual(10);
  });

  for (const command of commands)
    it(`runs: ${command}`, async () => {
      const { stdout } = await run('bash', ['-c', command], {
        cwd: folder,
        env: {
          ...process.env,
          PATH: `${folder}:${join(repositoryRoot, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
          MILLRACE_URL: daemon.url,
          MILLRACE_ROOT: daemon.root,
        },
      });
      expect(stdout.length).toBeGreaterThan(0);
      expect(stdout).not.toContain('"error"');
    });
});
