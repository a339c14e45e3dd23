import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLoad, startDaemon } from './children.ts';
import { eventText } from './load.ts';
import {
  interleave,
  median,
  rounded,
  spread,
  type BenchAnswer,
  type BenchOptions,
  type Question,
} from './question.ts';

/** A file of a gigabyte through the command line: what it costs in memory, and whether one command keeps a daemon as busy as many connections do. */
export const post: Question = {
  name: 'post',
  asks: 'events per second of `millrace post` of one NDJSON file of 1 GiB ÷ those of NDJSON-100 over 64 connections for as long, and the memory of both ends',
  run,
};

const sessions = 10;
/** More than node itself and two batches of a megabyte take would mean that the file is held. */
const residentMibMax = 256;
const sampleMs = 200;

interface Posted {
  readonly seconds: number;
  readonly perSecond: number;
  readonly clientMib: number;
  readonly daemonMib: number;
  readonly stored: number;
}

async function run(options: BenchOptions): Promise<BenchAnswer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-post-'));
  try {
    const file = join(folder, 'events.ndjson');
    const lines = writeEvents(file, options.isSmoke ? 8 : 1024);
    let seconds = 0;
    const { a, b } = await interleave(
      options.rounds,
      async () => {
        const posted = await postFile(file);
        ({ seconds } = posted);
        return posted;
      },
      (round) => postBatches(options, `p${round}`, seconds),
    );
    const ratios = a.map(({ perSecond }, at) => perSecond / (b[at] ?? 1));
    const clientMib = Math.max(...a.map((one) => one.clientMib));
    return {
      figures: {
        file_events: lines,
        events_per_second: Math.round(median(a.map(({ perSecond }) => perSecond))),
        ndjson_100_events_per_second: Math.round(median(b)),
        ratio_to_ndjson_100: rounded(median(ratios)),
        ratio_spread: rounded(spread(ratios)),
        client_resident_mib: Math.round(clientMib),
        daemon_resident_mib: Math.round(Math.max(...a.map((one) => one.daemonMib))),
      },
      gates: {
        'every line is stored': a.every(({ stored }) => stored === lines),
        'the client does not hold the file': clientMib <= residentMibMax,
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the number of lines. */
function writeEvents(path: string, mib: number): number {
  const file = openSync(path, 'w');
  let number = 0;
  for (let bytes = 0; bytes < mib * 2 ** 20;) {
    let text = '';
    for (const end = number + 1000; number < end; number += 1)
      text += `${eventText({ run: 'post', sessions }, number)}\n`;
    bytes += writeSync(file, text);
  }
  closeSync(file);
  return number;
}

async function postFile(file: string): Promise<Posted> {
  const daemon = await startDaemon();
  try {
    const began = performance.now();
    const program = fileURLToPath(new URL('../bin/millrace.js', import.meta.url));
    const url = `http://127.0.0.1:${daemon.port}`;
    const child = spawn(process.execPath, [program, 'post', file, '--url', url, '--json'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
    let clientMib = 0;
    const sampling = setInterval(() => {
      clientMib = Math.max(clientMib, peakMib(child.pid ?? 0));
    }, sampleMs);
    await once(child, 'close');
    clearInterval(sampling);
    const seconds = (performance.now() - began) / 1000;
    const { total } = JSON.parse(output) as { readonly total: { readonly queued: number } };
    return {
      seconds,
      perSecond: total.queued / seconds,
      clientMib,
      daemonMib: peakMib(daemon.pid),
      stored: total.queued,
    };
  } finally {
    await daemon.dispose();
  }
}

/** For as long as the file took: a burst of seconds goes before the drain, a minute of it does not. */
async function postBatches(options: BenchOptions, name: string, seconds: number): Promise<number> {
  const daemon = await startDaemon();
  try {
    const load = await runLoad({
      port: daemon.port,
      path: '/v1/events',
      connections: 64,
      sessions,
      eventsPerRequest: 100,
      run: name,
      ...(options.isSmoke
        ? { warmupMs: 500, durationMs: 1000 }
        : { warmupMs: 0, durationMs: seconds * 1000 }),
    });
    return load.eventsPerSecond;
  } finally {
    await daemon.dispose();
  }
}

/** Highest resident memory of a process so far; 0 once it has ended. */
function peakMib(pid: number): number {
  try {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return Number(found?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
