import { join } from 'node:path';
import { formatBytes, messageOf, type Chance, type Clock } from '#base';
import type { LoadedConfig } from '#config';
import { diskFaultOf, openFilesMax, type Disk } from '#disk';
import { reserveBytesOf } from '#queue';
import { foreignEntry, layoutOf, parseMarker, readDaemonFile, type RootLayout } from '#roots';
import { checkGraphServer, checkLeftStores } from './doctor-store.ts';

/** One thing that was looked at. A warning works today and is worth a look; a failure would stop `serve`. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  /** What to do about it; nothing where all is well or the detail says it. */
  readonly next?: string;
}

export interface ExaminedRoot {
  readonly path: string;
  /** Who named it. */
  readonly source: string;
}

export interface DoctorOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly root: ExaminedRoot;
  readonly loaded: LoadedConfig;
  /** Of this program. */
  readonly version: string;
  /** What the daemon at this address says of itself; rejects when nobody answers. */
  readonly askDaemon: (url: string) => Promise<DaemonFacts>;
}

export interface DaemonFacts {
  readonly degraded: readonly DaemonTrouble[];
  readonly version: string;
  /** Its clock, epoch ms, to a second; undefined when it does not tell. */
  readonly clockMs: number | undefined;
}

export interface DaemonTrouble {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

/** Looks at everything that `serve` would meet, and changes nothing but a probe file that it takes away again. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const layout = layoutOf(options.root.path);
  const parts = [
    [checkVersions(options.version), checkClock(options.clock)],
    await guarded('open files', () => checkOpenFiles(options.disk)),
    checkConfig(options.loaded),
    await guarded('root', () => checkRoot(layout, options)),
    await guarded('disk', () => checkDisk(layout, options)),
    await guarded('store', () => checkStore(layout, options)),
  ];
  return parts.flat();
}

/** A check that cannot be made is a finding of its own, not the end of the rest. */
async function guarded(check: string, make: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await make();
  } catch (error) {
    const fault = diskFaultOf(error);
    const detail =
      fault === undefined ? messageOf(error) : `${fault.what} (${messageOf(error)}): ${fault.cure}`;
    return [{ check, result: 'failed', detail }];
  }
}

function checkVersions(version: string): Finding {
  const { node, sqlite } = process.versions;
  const detail = `millrace ${version}, Node.js ${node}, SQLite ${sqlite ?? 'missing'}, ${process.platform} ${process.arch}`;
  return { check: 'versions', result: sqlite === undefined ? 'failed' : 'ok', detail };
}

/** Accept times and expiries of tokens come from this clock. */
function checkClock(clock: Clock): Finding {
  const time = new Date(clock.now()).toISOString();
  const isPlausible = clock.now() > Date.UTC(2026, 0, 1);
  return isPlausible
    ? { check: 'clock', result: 'ok', detail: time }
    : {
        check: 'clock',
        result: 'warning',
        detail: `${time} lies before this program was written`,
        next: 'set the clock (timedatectl set-ntp true): accept times and expiries of tokens come from it',
      };
}

/** A third of them goes to connections, a sixth to session logs. */
const openFilesFew = 1024;

async function checkOpenFiles(disk: Disk): Promise<Finding[]> {
  const most = await openFilesMax(disk);
  if (most === undefined) return [];
  const check = 'open files';
  return most >= openFilesFew
    ? [{ check, result: 'ok', detail: `${most} at most` }]
    : [
        {
          check,
          result: 'warning',
          detail: `${most} at most: few connections can be open at once`,
          next: 'raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit',
        },
      ];
}

function checkConfig({ config, origins }: LoadedConfig): Finding[] {
  const changed = Object.values(origins).filter((origin) => origin !== 'default').length;
  const findings: Finding[] = [
    {
      check: 'config',
      result: 'ok',
      detail: `valid, ${changed === 1 ? '1 setting is' : `${changed} settings are`} given by file, environment or flags`,
    },
  ];
  if (config['queue.fsync'] === 'none')
    findings.push({
      check: 'config',
      result: 'warning',
      detail: 'queue.fsync is none: a power loss takes acknowledged events (P1 is not kept)',
      next: 'set queue.fsync to group for anything but a bench',
    });
  return findings;
}

async function checkRoot(layout: RootLayout, { disk, root }: DoctorOptions): Promise<Finding[]> {
  const named = `${layout.root} (${root.source})`;
  const found = await disk.stat(layout.root);
  if (found === undefined)
    return [{ check: 'root', result: 'ok', detail: `${named} is not there yet; serve makes it` }];
  const bytes = await disk.readFile(layout.marker);
  if (bytes === undefined) {
    const names = (await disk.readDirectory(layout.root)).map(({ name }) => name);
    const foreign = foreignEntry(names);
    return foreign === undefined
      ? [{ check: 'root', result: 'ok', detail: `${named} is empty; serve makes a root of it` }]
      : [
          {
            check: 'root',
            result: 'failed',
            detail: `${named} holds ${foreign} and no root.json`,
            next: 'choose an empty folder with --root: nothing foreign is written over',
          },
        ];
  }
  const marker = parseMarker(layout.root, bytes);
  const id = `${named}, ${marker.storageRootId}${marker.isLab ? ', a lab root' : ''}`;
  const tokens = await disk.stat(layout.tokens);
  return [
    { check: 'root', result: 'ok', detail: id },
    checkMode(layout.root, found.mode, '700'),
    ...(tokens === undefined ? [] : [checkMode(layout.tokens, tokens.mode, '600')]),
  ];
}

function checkMode(path: string, mode: number, wanted: '600' | '700'): Finding {
  const text = (mode & 0o777).toString(8).padStart(3, '0');
  const isOpen = process.platform !== 'win32' && (mode & 0o077) !== 0;
  return isOpen
    ? {
        check: 'permissions',
        result: 'failed',
        detail: `${path} has mode ${text}: others can read it`,
        next: `chmod ${wanted} ${path}`,
      }
    : { check: 'permissions', result: 'ok', detail: `${path} has mode ${text}` };
}

const probeSyncs = 50;
/** Above this a request waits visibly for its acknowledgement; consumer disks take 1 to 10 ms. */
const slowSyncMs = 50;

async function checkDisk(layout: RootLayout, options: DoctorOptions): Promise<Finding[]> {
  const { disk, loaded } = options;
  if ((await disk.stat(layout.root)) === undefined) return [];
  const { freeBytes, totalBytes } = await disk.space(layout.root);
  const reserve = reserveBytesOf(loaded.config['queue.reserve_bytes'], totalBytes);
  const space = `${formatBytes(freeBytes)} free, ${formatBytes(reserve)} kept in reserve`;
  if (freeBytes <= reserve)
    return [
      {
        check: 'disk space',
        result: 'failed',
        detail: `${space}: appends are refused with 503`,
        next: `free space on the file system of ${layout.root}; it heals by itself`,
      },
    ];
  const times = await measureSyncs(join(layout.root, probeName(options.chance)), options);
  const p50 = times[Math.floor(times.length * 0.5)] ?? 0;
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  return [
    { check: 'disk space', result: 'ok', detail: space },
    {
      check: 'disk sync',
      result: p99 > slowSyncMs ? 'warning' : 'ok',
      detail: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms over ${probeSyncs} syncs`,
      ...(p99 > slowSyncMs
        ? {
            next: 'every answer waits for a sync: put the root on a faster disk, or end what keeps it busy',
          }
        : {}),
    },
  ];
}

/** A leading dot and the name of a probe: listings and audits skip it (ROOT-14). */
function probeName(chance: Chance): string {
  return `.tmp-probe-${chance.uuid()}`;
}

/** Milliseconds of each write and fdatasync, sorted. */
async function measureSyncs(path: string, { disk, clock }: DoctorOptions): Promise<number[]> {
  const file = await disk.open(path, 'create');
  const times: number[] = [];
  try {
    for (let at = 0; at < probeSyncs; at++) {
      const began = clock.monotonic();
      await file.writeAt([Buffer.alloc(4096, at)], at * 4096);
      await file.sync();
      times.push(clock.monotonic() - began);
    }
  } finally {
    await file.close();
    await disk.unlink(path);
  }
  return times.toSorted((a, b) => a - b);
}

async function checkStore(layout: RootLayout, options: DoctorOptions): Promise<Finding[]> {
  const { disk } = options;
  const sizes = await Promise.all(
    [layout.queue, layout.graph, layout.state].map((folder) => disk.readDirectory(folder)),
  );
  const [queue = [], graph = [], state = []] = sizes;
  const what = `queue ${present(queue)}, graph ${present(graph)}, state ${present(state)}`;
  return [
    ...(await checkDaemon(layout, options)),
    { check: 'store', result: 'ok', detail: what },
    ...(await checkLeftStores(layout, disk)),
    ...(await checkGraphServer(options.loaded.config)),
  ];
}

/** What the daemon itself says is wrong: one line each, as in its status and its log. */
async function checkDaemon(
  layout: RootLayout,
  { disk, clock, version, askDaemon }: DoctorOptions,
): Promise<Finding[]> {
  const check = 'daemon';
  const running = await readDaemonFile(disk, layout.daemonFile);
  if (running === undefined)
    return [{ check, result: 'ok', detail: 'no daemon has left its address here' }];
  const named = `daemon.json names ${running.url} (pid ${running.pid}, started ${running.started})`;
  let facts: DaemonFacts;
  try {
    facts = await askDaemon(running.url);
  } catch (error) {
    const detail = `${named}, and nobody answers there (${messageOf(error)}): it was killed, or still starts`;
    return [
      {
        check,
        result: 'warning',
        detail,
        next: 'millrace serve: a start after a kill is always safe',
      },
    ];
  }
  return [...checkSkew(facts, version, clock), ...daemonFindings(facts.degraded, named)];
}

const skewMsMax = 5000;

function checkSkew(
  { version: running, clockMs }: DaemonFacts,
  version: string,
  clock: Clock,
): Finding[] {
  const findings: Finding[] = [];
  if (running !== version)
    findings.push({
      check: 'versions',
      result: 'warning',
      detail: `the daemon is millrace ${running}, this is ${version}`,
      next: 'restart the daemon to run the version that is installed',
    });
  if (clockMs !== undefined && Math.abs(clockMs - clock.now()) > skewMsMax)
    findings.push({
      check: 'clock',
      result: 'warning',
      detail: `the clock of the daemon is ${Math.round((clockMs - clock.now()) / 1000)} s off this one`,
      next: 'set both by NTP: expiries of tokens and retention follow the daemon',
    });
  return findings;
}

function daemonFindings(troubles: readonly DaemonTrouble[], named: string): Finding[] {
  const check = 'daemon';
  if (troubles.length === 0) return [{ check, result: 'ok', detail: named }];
  return troubles.map(({ code, message, since }) => ({
    check,
    result: 'failed',
    detail: `${code} since ${since}: ${message}`,
    next: 'docs/operations.md, "Is it well?", says what each code asks for',
  }));
}

function present(entries: readonly unknown[]): string {
  return entries.length > 0 ? 'there' : 'empty';
}
