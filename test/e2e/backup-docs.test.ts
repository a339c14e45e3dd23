import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { postLines, readBooks, readDigest, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { makeWorkload } from '../support/workload.ts';
import { readText, repositoryRoot } from '../tidy/source-tree.ts';

const run = promisify(execFile);

/** The commands of the page, one per line. */
const commands = (/```bash\n([\s\S]*?)```/.exec(readText('docs/backup.md'))?.[1] ?? '')
  .split('\n')
  .filter((line) => line.trim() !== '');

it('executes the commands of docs/backup.md, and serves what they have restored', async () => {
  expect(commands.length).toBeGreaterThan(3);
  await withTemporaryDirectory(async (folder) => {
    await mkdir(join(folder, 'saved'));
    await mkdir(join(folder, 'bin'));
    const program = join(repositoryRoot, 'bin', 'millrace.js');
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
    await writeFile(join(folder, 'bin', 'millrace'), shim, { mode: 0o755 });
    const daemon = await startDaemon({ root: join(folder, 'root') });
    const PATH = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
    const env = { ...process.env, PATH, MILLRACE_URL: daemon.url };
    try {
      const batches = makeWorkload({ seed: 5, sessions: 3, turns: 2, eventsPerBatch: 10 });
      for (const { bodies } of batches) expect(await postLines(daemon.url, bodies)).toBe(202);
      await waitUntilIdle(daemon.url);
      for (const command of commands) await run('bash', ['-c', command], { cwd: folder, env });
      const restored = await startDaemon({ root: join(folder, 'restored') });
      try {
        await waitUntilIdle(restored.url);
        expect(await readDigest(restored.url)).toEqual(await readDigest(daemon.url));
        expect(await readBooks(restored.url)).toMatchObject({ pending: 0, residual: 0 });
      } finally {
        await restored.kill();
      }
    } finally {
      await daemon.kill();
    }
  });
}, 120_000);
