import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBigRoot } from '../test/support/big-root.ts';
import { getJson, startDaemon, type DaemonChild } from './children.ts';
import { interleave, median, rounded, type BenchOptions, type Question } from './question.ts';

const activeCount = 100;

interface Cost {
  readonly startMs: number;
  readonly residentMib: number;
  /** Of one core, over a few seconds without a request. */
  readonly idleCpuPercent: number;
  readonly openFiles: number;
  readonly listMs: number;
  readonly showMs: number;
}

function residentMib(pid: number): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find((text) => text.startsWith('VmRSS:'));
  return Number(/(\d+)/.exec(line ?? '')?.[1] ?? 0) / 1024;
}

/** Processor time so far, in ms: ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

async function timed(daemon: DaemonChild, path: string): Promise<number> {
  const began = performance.now();
  await getJson(daemon.port, path);
  return performance.now() - began;
}

/** Gives a hundred sessions an event each and kills the daemon at once: the next start has something to recover. */
async function makeActive(root: string): Promise<void> {
  const daemon = await startDaemon({ root });
  const lines = Array.from({ length: activeCount }, (_, at) =>
    JSON.stringify({
      event: 'session:start',
      workspace: 'active',
      data: { session_id: `active-${at}`, timestamp: '2026-07-01T00:00:00Z' },
    }),
  );
  const answer = await fetch(`http://127.0.0.1:${daemon.port}/v1/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  await answer.arrayBuffer();
  if (answer.status !== 202) throw new Error(`active sessions were answered ${answer.status}`);
  process.kill(daemon.pid, 'SIGKILL');
  await daemon.stop();
}

async function measure(root: string, watchMs: number): Promise<Cost> {
  await makeActive(root);
  const daemon = await startDaemon({ root });
  await getJson(daemon.port, '/v1/wait?until=idle&timeout=60000');
  // Compiling and collecting what the start left behind is no idle work.
  await pause(watchMs);
  const before = cpuMs(daemon.pid);
  await pause(watchMs);
  const cost: Cost = {
    startMs: daemon.startMs,
    residentMib: residentMib(daemon.pid),
    idleCpuPercent: ((cpuMs(daemon.pid) - before) / watchMs) * 100,
    openFiles: readdirSync(`/proc/${daemon.pid}/fd`).length,
    listMs: await timed(daemon, '/v1/sessions?limit=100'),
    showMs: await timed(daemon, '/v1/sessions/idle-0000007'),
  };
  await daemon.stop();
  return cost;
}

export const bigRoot: Question = {
  name: 'big-root',
  asks: 'what 100,000 idle sessions cost a daemon with 100 active ones, against 100 idle ones',
  async run({ isSmoke, rounds }: BenchOptions) {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-big-'));
    try {
      const few = join(folder, 'few');
      const many = join(folder, 'many');
      await makeBigRoot(few, isSmoke ? 20 : 100);
      await makeBigRoot(many, isSmoke ? 500 : 100_000);
      const watchMs = isSmoke ? 200 : 5_000;
      const { a, b } = await interleave(
        isSmoke ? 1 : Math.max(3, rounds),
        () => measure(few, watchMs),
        () => measure(many, watchMs),
      );
      const of = (costs: readonly Cost[], member: keyof Cost): number =>
        median(costs.map((cost) => cost[member]));
      const openFilesMore = of(b, 'openFiles') - of(a, 'openFiles');
      return {
        figures: {
          start_ms_few: Math.round(of(a, 'startMs')),
          start_ms_many: Math.round(of(b, 'startMs')),
          start_ratio: rounded(of(b, 'startMs') / of(a, 'startMs')),
          resident_mib_few: Math.round(of(a, 'residentMib')),
          resident_mib_many: Math.round(of(b, 'residentMib')),
          resident_mib_more: Math.round(of(b, 'residentMib') - of(a, 'residentMib')),
          idle_cpu_percent_few: rounded(of(a, 'idleCpuPercent')),
          idle_cpu_percent_many: rounded(of(b, 'idleCpuPercent')),
          open_files_more: openFilesMore,
          list_ms_many: Math.round(of(b, 'listMs')),
          show_by_id_ms_many: Math.round(of(b, 'showMs')),
        },
        gates: { no_file_per_session: openFilesMore < 20 },
      };
    } finally {
      // A hundred thousand folders take minutes on a busy disk, and nobody has to wait for that.
      spawn('rm', ['-rf', folder], { detached: true, stdio: 'ignore' }).unref();
    }
  },
};
