/**
 * SC-021, SC-028, ING-826: a backlog far above what a process may hold is recovered and drained in bounded memory and at an even rate. Makes the
 * backlog with the real queue and no drain, kills that process, starts a daemon on it, and watches the highest resident memory and the rate of each
 * tenth until all is drained.
 *
 *     node test/long/large-backlog.ts [--mib 1024] [--record-bytes 20000] [--sessions 300]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { FencePermit, tenureDomain } from '#fence';
import { openFilesystemQueue } from '#queue-backends/filesystem';
import { layoutOf, parseMarker } from '#roots';
import { openLmdbState } from '#state';
import { makeBigRoot } from '../support/big-root.ts';
import { testRecord } from '../support/queue-fixtures.ts';
import { startDaemon } from '../support/child-daemon.ts';
import { readBooks, waitUntilIdle } from '../support/daemon-client.ts';

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '1024' },
    sessions: { type: 'string', default: '300' },
    'record-bytes': { type: 'string', default: '20000' },
    fill: { type: 'string' },
  },
});
const recordBytes = Number(values['record-bytes']);
const recordsAtOnce = 200;
const residentMibMax = 512;
/** Slowest tenth of the records against the middle one. Machines are shared: a quarter is a lot of noise, and far from a rate that falls and falls. */
const slowestShareMin = 0.25;
const parts = 10;

/** In a process of its own, which ends without closing anything, as kill -9 ends one. */
async function fill(path: string, mib: number, sessions: number): Promise<void> {
  const layout = layoutOf(path);
  const rootId = parseMarker(path, readFileSync(layout.marker)).storageRootId;
  const permit = FencePermit.issue(tenureDomain(rootId), 2, 'filler', () => true);
  const state = await openLmdbState({ directory: layout.state, permit, chance: systemChance });
  const queue = await openFilesystemQueue({
    directory: layout.queue,
    disk: nodeDisk(),
    names: stagingNames(process.pid, systemChance),
    clock: systemClock,
    chance: systemChance,
    permit,
    state,
    rootId,
    limits: {
      segmentBytes: 64 * 2 ** 20,
      bytesMax: 2 ** 40,
      bytesPerKeyMax: 2 ** 40,
      reserveBytes: 0,
      cursorBytesMax: 256 * 2 ** 10,
      quarantineBacklogBytesMax: 2 ** 30,
    },
    fsync: 'none',
    lockWarnMs: 60_000,
  });
  const text = 'x'.repeat(recordBytes);
  const records = Math.ceil((mib * 2 ** 20) / recordBytes);
  for (let from = 0; from < records; from += recordsAtOnce) {
    const batch = Array.from({ length: Math.min(recordsAtOnce, records - from) }, (_, at) => {
      const session = `busy-${(from + at) % sessions}`;
      const timestamp = '2026-01-01T00:00:00.000Z';
      const data = { session_id: session, timestamp, n: from + at, text };
      return testRecord({ session, workspace: 'busy', data });
    });
    for (let isTaken = false; !isTaken;) {
      try {
        await queue.append(batch);
        isTaken = true;
      } catch {
        await systemClock.sleep(50);
      }
    }
  }
  process.stdout.write(String(records), () => process.exit(0));
}

async function drainAll(): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), 'millrace-backlog-'));
  try {
    await makeBigRoot(root, 10);
    const program = fileURLToPath(import.meta.url);
    const { mib, sessions } = values;
    const order = ['--fill', root, '--mib', mib, '--sessions', sessions];
    order.push('--record-bytes', String(recordBytes));
    const filled = spawnSync(process.execPath, [program, ...order], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (filled.status !== 0) throw new Error(`filling ended with ${filled.status}`);
    const records = Number(filled.stdout);
    const began = performance.now();
    const daemon = await startDaemon({
      root,
      args: ['--set', 'queue.reserve_bytes=0'],
      env: { NODE_OPTIONS: '--max-old-space-size=256 --max-semi-space-size=8' },
    });
    const readyMs = Math.round(performance.now() - began);
    const afterStart = highestResidentMib(daemon.pid);
    const books = await readBooks(daemon.url);
    const gone = daemon.exited().then((code) => {
      throw new Error(`the daemon ended with ${code}:\n${daemon.output()}`);
    });
    const drained = await Promise.race([gone, drainedUntilIdle(daemon.url)]);
    gone.catch(() => undefined);
    const rates = ratesOf(drained, records);
    const slowestShare = slowestOf(rates);
    const { applied, residual } = await readBooks(daemon.url);
    const highest = highestResidentMib(daemon.pid);
    const code = await daemon.stop();
    const seconds = Math.round((performance.now() - began) / 1000);
    const passed =
      books.pending > 0 &&
      applied === records + 10 &&
      residual === 0 &&
      code === 0 &&
      highest < residentMibMax &&
      slowestShare >= slowestShareMin;
    const counts = { mib: Number(mib), records, readyMs, afterStart, highest, seconds };
    const report = { passed, counts: { ...counts, perSecondByTenth: rates, slowestShare } };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return passed;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface Sample {
  readonly atMs: number;
  readonly applied: number;
}

/** How far the drain was, about twice a second, until nothing was left. */
async function drainedUntilIdle(url: string): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (;;) {
    const { applied, pending } = await readBooks(url);
    samples.push({ atMs: performance.now(), applied });
    if (pending === 0) break;
    await systemClock.sleep(500);
  }
  await waitUntilIdle(url, 60_000);
  return samples;
}

/** Records per second of each tenth of the records; of a short drain there are fewer parts. */
function ratesOf(samples: readonly Sample[], records: number): readonly number[] {
  const rates: number[] = [];
  let [from] = samples;
  for (const sample of samples) {
    if (from === undefined || sample.applied - from.applied < records / parts) continue;
    rates.push(Math.round(((sample.applied - from.applied) * 1000) / (sample.atMs - from.atMs)));
    from = sample;
  }
  return rates;
}

function slowestOf(rates: readonly number[]): number {
  const middle = rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 0;
  return middle === 0 ? 1 : Math.round((Math.min(...rates) / middle) * 100) / 100;
}

function highestResidentMib(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024);
}

if (values.fill === undefined) process.exitCode = (await drainAll()) ? 0 : 1;
else await fill(values.fill, Number(values.mib), Number(values.sessions));
