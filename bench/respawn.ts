/** How long records wait for the next daemon: from SIGKILL to the first of them applied, with so many keys waiting (ING-B05). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from '../src/lab/child-daemon.ts';
import { postLines, readBooks } from '../src/lab/daemon-client.ts';
import { makeLabRoot } from '../src/lab/lab-root.ts';
import { median, rounded, type Question } from './question.ts';

const args = ['--log-level', 'error'];
/** The graph is never reached in the first life: all that was accepted waits. */
const env = { MILLRACE_FAILPOINTS: 'drain:before-apply=delay:3600000' };
const keysPerRequest = 500;
const pollMs = 5;

async function fill(url: string, keys: number): Promise<void> {
  for (let from = 0; from < keys; from += keysPerRequest) {
    const bodies = Array.from({ length: Math.min(keysPerRequest, keys - from) }, (_, at) =>
      JSON.stringify({
        event: 'custom:note',
        workspace: 'bench',
        data: { session_id: `s-${from + at}`, timestamp: '2026-06-01T00:00:00Z' },
      }),
    );
    const status = await postLines(url, bodies);
    if (status !== 202) throw new Error(`the daemon answered ${status}`);
  }
}

async function measure(keys: number): Promise<number> {
  const root = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    await makeLabRoot(root);
    const first = await startDaemon({ root, args, env });
    await fill(first.url, keys);
    await first.kill();
    const began = performance.now();
    const second = await startDaemon({ root, args });
    while ((await readBooks(second.url)).applied === 0)
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    const ms = performance.now() - began;
    await second.kill();
    return ms;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export const respawn: Question = {
  name: 'respawn',
  asks: 'milliseconds from SIGKILL to the first record applied by the next daemon, with 10, 1,000 and 10,000 keys waiting',
  async run({ isSmoke, rounds }) {
    const figures: Record<string, number> = {};
    for (const keys of isSmoke ? [10] : [10, 1000, 10_000]) {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) times.push(await measure(keys));
      figures[`ms_${keys}_keys`] = rounded(median(times));
    }
    return { figures };
  },
};
