import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { nodeDisk } from '#disk';
import { startBaseline, startDaemon } from './children.ts';
import { withDirectory } from './place.ts';
import {
  median,
  rounded,
  spread,
  type BenchAnswer,
  type BenchOptions,
  type Question,
} from './question.ts';

/**
 * From the first byte of a POST until a query would see it, on an idle daemon; against the steps that nobody can leave out, done one after
 * another with nothing between them: a request to the same server without a log, a write and sync of the line, a committed transaction with
 * the rows, and a request for the answer.
 */
export const visible: Question = {
  name: 'visible',
  asks: 'time of one event from POST until it is visible in the graph, daemon idle, ÷ the bare steps one after another',
  run,
};

interface Times {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function run(options: BenchOptions): Promise<BenchAnswer> {
  const count = options.isSmoke ? 50 : 500;
  const ours: Times[] = [];
  const bare: Times[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const steps = [
      async () => void ours.push(await timeDaemon(count)),
      async () => void bare.push(await timeBare(count)),
    ];
    if (round % 2 === 1) steps.reverse();
    for (const step of steps) await step();
  }
  const ratios = (figure: keyof Times): number[] =>
    ours.map((one, at) => one[figure] / (bare[at]?.[figure] ?? 1));
  const mid = (of: readonly Times[], figure: keyof Times): number =>
    rounded(median(of.map((one) => one[figure])));
  return {
    figures: {
      p50_ms: mid(ours, 'p50Ms'),
      p99_ms: mid(ours, 'p99Ms'),
      bare_p50_ms: mid(bare, 'p50Ms'),
      bare_p99_ms: mid(bare, 'p99Ms'),
      p50_ratio: rounded(median(ratios('p50Ms'))),
      p99_ratio: rounded(median(ratios('p99Ms'))),
      p50_ratio_spread: rounded(spread(ratios('p50Ms'))),
    },
  };
}

async function timed(count: number, step: (at: number) => Promise<void>): Promise<Times> {
  for (let at = 0; at < count; at += 1) await step(at);
  const times: number[] = [];
  for (let at = count; at < 2 * count; at += 1) {
    const began = performance.now();
    await step(at);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const part = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  return { p50Ms: part(0.5), p99Ms: part(0.99) };
}

function eventOf(at: number): string {
  return JSON.stringify({
    event: 'tool:post',
    workspace: 'bench',
    data: {
      session_id: `visible-${at % 10}`,
      timestamp: new Date(Date.UTC(2026, 5, 1) + at).toISOString(),
      tool_name: 'read_file',
      tool_call_id: `call-${at}`,
      result: 'x'.repeat(600),
    },
  });
}

async function timeDaemon(count: number): Promise<Times> {
  const daemon = await startDaemon();
  const url = `http://127.0.0.1:${daemon.port}/v1`;
  try {
    return await timed(count, async (at) => {
      const posted = await postTo(`${url}/events`, eventOf(at));
      const { session_id: session, position } = posted as { session_id: string; position: string };
      const query = `workspace=bench&wait=applied&position=${position}`;
      const answer = await fetch(`${url}/sessions/${session}?${query}`);
      if (answer.status !== 200) throw new Error(`the wait was answered ${answer.status}`);
      await answer.arrayBuffer();
    });
  } finally {
    await daemon.dispose();
  }
}

async function postTo(url: string, body: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body });
  if (answer.status !== 202) throw new Error(`an event was answered ${answer.status}`);
  return answer.json();
}

async function timeBare(count: number): Promise<Times> {
  return withDirectory(async (directory) => {
    const server = await startBaseline();
    const url = `http://127.0.0.1:${server.port}/v1/events`;
    const log = await nodeDisk().open(join(directory, 'log'), 'create');
    const database = new DatabaseSync(join(directory, 'bare.db'));
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    database.exec('CREATE TABLE node (id TEXT PRIMARY KEY, props TEXT NOT NULL) STRICT');
    const upsert = database.prepare(
      'INSERT INTO node (id, props) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET props = excluded.props',
    );
    let end = 0;
    try {
      return await timed(count, async (at) => {
        const body = eventOf(at);
        await postTo(url, body);
        const line = Buffer.from(`${body}\n`);
        await log.writeAt([line], end);
        await log.sync();
        end += line.byteLength;
        database.exec('BEGIN IMMEDIATE');
        upsert.run(`session-${at % 10}`, '{}');
        upsert.run(`event-${at}`, body);
        upsert.run(`call-${at}`, body);
        database.exec('COMMIT');
        await postTo(url, body);
      });
    } finally {
      database.close();
      await log.close();
      await server.stop();
    }
  });
}
