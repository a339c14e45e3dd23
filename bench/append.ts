import { join } from 'node:path';
import { nodeDisk } from '#disk';
import type { AppendInput } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { encodeKey } from '#record';
import { journalSynced } from '#signals';
import { withDirectory, withQueue } from './place.ts';
import {
  type BenchAnswer,
  type BenchOptions,
  interleave,
  median,
  rounded,
  type Question,
} from './question.ts';

/** The queue alone, without HTTP and parsing: appends of 1 KB by 64 senders, against the same bytes written and synced in the same way bare. */
export const append: Question = {
  name: 'append',
  asks: 'appends per second of the queue alone, 64 in flight, against a bare file with the same self-clocked group sync',
  run,
};

const inFlight = 64;
const textBytes = 800;

interface Measured {
  readonly perSecond: number;
  readonly cpuUsPerEvent: number;
  readonly syncsPerEvent: number;
  readonly p99Ms: number;
}

async function run({ isSmoke, rounds }: BenchOptions): Promise<BenchAnswer> {
  const count = isSmoke ? 2_000 : 60_000;
  const figures: Record<string, number> = {};
  let syncsPerEvent = 0;
  for (const sessions of [10, 1000]) {
    const { a, b } = await interleave(
      rounds,
      () => withQueue(nodeDisk(), ({ queue }) => measure(queueSender(queue, sessions), count)),
      () => withBareFile((send) => measure(send, count)),
    );
    const mid = (of: readonly Measured[], member: keyof Measured): number =>
      median(of.map((one) => one[member]));
    figures[`appends_per_second_${sessions}_sessions`] = Math.round(mid(a, 'perSecond'));
    figures[`ratio_to_bare_${sessions}_sessions`] = rounded(
      mid(a, 'perSecond') / mid(b, 'perSecond'),
    );
    figures[`cpu_us_per_event_${sessions}_sessions`] = rounded(mid(a, 'cpuUsPerEvent'));
    figures[`p99_ms_${sessions}_sessions`] = rounded(mid(a, 'p99Ms'));
    syncsPerEvent = Math.max(syncsPerEvent, mid(a, 'syncsPerEvent'));
  }
  figures['syncs_per_event'] = Math.round(syncsPerEvent * 1000) / 1000;
  return { figures, gates: { 'syncs_per_event <= 0.05': syncsPerEvent <= 0.05 } };
}

type Send = (n: number) => Promise<unknown>;

async function measure(send: Send, count: number): Promise<Measured> {
  await race(send, Math.min(2_000, count), []);
  let syncs = 0;
  const end = journalSynced.subscribe(() => {
    syncs += 1;
  });
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  await race(send, count, latencies);
  const elapsedMs = performance.now() - began;
  const used = process.cpuUsage(cpu);
  end();
  latencies.sort((a, b) => a - b);
  return {
    perSecond: count / (elapsedMs / 1000),
    cpuUsPerEvent: (used.user + used.system) / count,
    syncsPerEvent: syncs / count,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  };
}

async function race(send: Send, count: number, latencies: number[]): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const began = performance.now();
      await send(n);
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

function queueSender(queue: FilesystemQueue, sessions: number): Send {
  const inputs = Array.from({ length: sessions }, (_, at) => inputOf(`session-${at}`));
  let sent = 0;
  return (n) => {
    const input = inputs[n % sessions];
    if (input === undefined) return Promise.resolve();
    sent += 1;
    return queue.append([{ ...input, eventId: `event-${sent}` }]);
  };
}

function inputOf(session: string): AppendInput {
  const workspace = 'bench';
  const head = `{"v":1,"sid":"${session}","at":"2026-01-01T00:00:00.000Z","ws":"${workspace}","by":null,"ev":"tool:post"`;
  const raw = Buffer.from(`${head},"data":{"text":"${'x'.repeat(textBytes)}"}}`);
  return { key: encodeKey(workspace, session), workspace, session, raw, principal: 'bench' };
}

/** One zero-filled file, one write and one sync in flight; the next group is what gathered meanwhile. */
async function withBareFile<T>(use: (send: Send) => Promise<T>): Promise<T> {
  return withDirectory(async (directory) => {
    const disk = nodeDisk();
    const file = await disk.open(join(directory, 'bare'), 'create');
    const bytes = inputOf('session-0').raw;
    await file.writeAt([Buffer.alloc(64 * 2 ** 20)], 0);
    await file.sync();
    let waiting: (() => void)[] = [];
    let at = 0;
    let isRunning = false;
    const flush = async (): Promise<void> => {
      isRunning = true;
      while (waiting.length > 0) {
        const group = waiting;
        waiting = [];
        if (at + group.length * bytes.length > 64 * 2 ** 20) at = 0;
        await file.writeAt([Buffer.concat(group.map(() => bytes))], at);
        await file.sync();
        at += group.length * bytes.length;
        for (const done of group) done();
      }
      isRunning = false;
    };
    try {
      return await use(
        () =>
          new Promise<void>((resolve) => {
            waiting.push(resolve);
            if (!isRunning) void Promise.resolve().then(() => (isRunning ? undefined : flush()));
          }),
      );
    } finally {
      await file.close();
    }
  });
}
