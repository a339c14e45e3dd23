import { readFileSync } from 'node:fs';
import { getJson, startDaemon, type DaemonChild } from './children.ts';
import { rounded, type BenchOptions, type Question } from './question.ts';

function residentMib(pid: number): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find((text) => text.startsWith('VmRSS:'));
  return Number(/(\d+)/.exec(line ?? '')?.[1] ?? 0) / 1024;
}

async function fill(daemon: DaemonChild, sessions: number): Promise<void> {
  const time = '2026-07-01T00:00:00Z';
  for (let from = 0; from < sessions; from += 1000) {
    const lines = Array.from({ length: Math.min(1000, sessions - from) }, (_, at) =>
      JSON.stringify({
        event: 'session:start',
        workspace: 'idle',
        data: { session_id: `idle-${from + at}`, timestamp: time },
      }),
    );
    const answer = await fetch(`http://127.0.0.1:${daemon.port}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    if (answer.status !== 202) throw new Error(`fill was answered ${answer.status}`);
    await answer.arrayBuffer();
  }
  await getJson(daemon.port, '/v1/wait?until=idle&timeout=300000');
}

interface Idle {
  readonly startMs: number;
  readonly residentMib: number;
}

/** Fills a root, stops cleanly, starts again: what start and memory cost once all sessions are idle. */
async function measure(sessions: number): Promise<Idle> {
  const first = await startDaemon();
  await fill(first, sessions);
  await first.stop();
  const second = await startDaemon({ root: first.root });
  await getJson(second.port, '/v1/status');
  const answer = { startMs: second.startMs, residentMib: residentMib(second.pid) };
  await second.dispose();
  return answer;
}

export const idle: Question = {
  name: 'idle',
  asks: 'start time and resident memory with 10,000 idle sessions against 100',
  async run(options: BenchOptions) {
    const few = await measure(options.isSmoke ? 10 : 100);
    const many = await measure(options.isSmoke ? 100 : 10_000);
    return {
      figures: {
        start_ms_few: Math.round(few.startMs),
        start_ms_many: Math.round(many.startMs),
        start_ratio: rounded(many.startMs / few.startMs),
        resident_mib_few: Math.round(few.residentMib),
        resident_mib_many: Math.round(many.residentMib),
        resident_mib_more: Math.round(many.residentMib - few.residentMib),
      },
    };
  },
};
