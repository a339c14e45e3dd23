/**
 * Runs the suites that need what not every machine has: a real service, or the right to mount a file system. Each names what it needs and looks for
 * it; one whose need is not met is told with the reason and counted as skipped, never left out in silence.
 *
 *     npm run test:services [-- report.json]
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cannotFetchTck } from './tck/fetch.ts';
import { cannotFetchNeo4j, neo4jVersion, startNeo4j } from './neo4j-server.ts';

interface ServiceSuite {
  readonly needs: string;
  readonly files: readonly string[];
  /** Why it cannot run here; undefined when it can. */
  missing(): string | undefined;
  /** What all its files share, and where they find it. */
  start?(): Promise<StartedService>;
}

interface StartedService {
  readonly env: Readonly<Record<string, string>>;
  dispose(): Promise<void>;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

/** Those of one lane run one after another, the lanes side by side: a browser and a file system leave most of two cores alone. */
const lanes: readonly (readonly ServiceSuite[])[] = [
  [
    {
      needs: 'a browser (chromium)',
      files: [
        'test/services/console.test.ts',
        'test/services/console-access.test.ts',
        'test/services/console-desk.test.ts',
        'test/services/console-live.test.ts',
        'test/services/console-quarantine.test.ts',
      ],
      missing: cannotBrowse,
    },
    {
      needs: 'a small file system of its own (mount -t tmpfs)',
      files: ['test/services/small-file-system.test.ts'],
      missing: cannotMount,
    },
    {
      needs: 'a file system that can be made read-only (ext4 on a loop device)',
      files: ['test/services/read-only-file-system.test.ts'],
      missing: cannotLoop,
    },
  ],
  [
    {
      needs: 'the openCypher TCK (java, mvn and a Maven registry)',
      files: ['test/services/cypher-tck.test.ts'],
      missing: cannotFetchTck,
    },
    {
      needs: `Neo4j ${neo4jVersion} (java, mvn and a Maven registry)`,
      files: [
        'test/services/neo4j-contract.test.ts',
        'test/services/neo4j-daemon.test.ts',
        'test/services/neo4j-equal.test.ts',
        'test/services/neo4j-remove.test.ts',
        'test/services/cypher-fuzz.test.ts',
      ],
      missing: cannotFetchNeo4j,
      async start() {
        const { uri, dispose } = await startNeo4j();
        return { env: { TEST_NEO4J_URL: uri }, dispose };
      },
    },
  ],
];

/** Installs it where that is ours to do. */
function cannotBrowse(): string | undefined {
  const isThere = (): boolean => spawnSync('/usr/bin/chromium', ['--version']).status === 0;
  if (isThere()) return undefined;
  if (process.getuid?.() !== 0) return 'chromium is not installed, and this is not root';
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '-y', '--no-install-recommends', 'chromium'];
  for (const args of [['update'], install]) {
    const ran = spawnSync('apt-get', args, { encoding: 'utf8', env: environment });
    if (ran.status !== 0)
      return `chromium cannot be installed: ${ran.error?.message ?? ran.stderr.trim().split('\n').at(-1)}`;
  }
  return isThere() ? undefined : 'chromium does not start';
}

function cannotMount(): string | undefined {
  const place = mkdtempSync(join(tmpdir(), 'millrace-mount-'));
  try {
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place]);
    if (mount.status !== 0)
      return `this machine does not let us mount: ${mount.error?.message ?? String(mount.stderr).trim()}`;
    spawnSync('umount', [place]);
    return undefined;
  } finally {
    rmdirSync(place);
  }
}

function cannotLoop(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-loop-'));
  const image = join(folder, 'image');
  const steps: readonly (readonly string[])[] = [
    ['truncate', '-s', '8M', image],
    ['mkfs.ext4', '-q', image],
    ['mkdir', join(folder, 'place')],
    ['mount', '-o', 'loop', image, join(folder, 'place')],
    ['findmnt', '-n', join(folder, 'place')],
  ];
  try {
    for (const [command = '', ...args] of steps) {
      const ran = spawnSync(command, args, { encoding: 'utf8' });
      if (ran.status !== 0)
        return `${command} does not work here: ${ran.error?.message ?? ran.stderr.trim()}`;
    }
    return undefined;
  } finally {
    spawnSync('umount', [join(folder, 'place')]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tests of the suite's files, counted by their text; a contract counts as one. */
function testsIn({ files }: ServiceSuite): number {
  return files.reduce(
    (sum, file) =>
      sum + [...readFileSync(file, 'utf8').matchAll(/^\s*(it|describeGraphStore)\(/gm)].length,
    0,
  );
}

async function runSuite(suite: ServiceSuite): Promise<Report> {
  const service = await suite.start?.();
  try {
    return await runFiles(suite, service?.env ?? {});
  } finally {
    await service?.dispose();
  }
}

async function runLane(suites: readonly ServiceSuite[]): Promise<readonly Report[]> {
  const reports: Report[] = [];
  for (const suite of suites) {
    const reason = suite.missing();
    if (reason === undefined) {
      reports.push(await runSuite(suite));
      continue;
    }
    const count = testsIn(suite);
    process.stdout.write(`skipped: ${count} tests need ${suite.needs}: ${reason}\n`);
    reports.push({ numPassedTests: 0, numFailedTests: 0, numPendingTests: count });
  }
  return reports;
}

/** What it says is told as one piece when it has ended: the lanes would speak at the same time. */
async function runFiles({ files }: ServiceSuite, env: StartedService['env']): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-services-'));
  const path = join(folder, 'report.json');
  const output = join(folder, 'output');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${path}`];
    const config = ['--config', 'test/services/services-config.ts'];
    const said = openSync(output, 'w');
    const ran = spawn('vitest', ['run', ...config, ...reporters, ...files], {
      stdio: ['ignore', said, said],
      env: { ...process.env, ...env },
    });
    closeSync(said);
    const [status] = (await once(ran, 'exit')) as [number | null];
    process.stdout.write(readFileSync(output));
    const report = JSON.parse(readFileSync(path, 'utf8')) as Report;
    return status === 0 || report.numFailedTests > 0 ? report : { ...report, numFailedTests: 1 };
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.chdir(fileURLToPath(new URL('../../', import.meta.url)));
const reports = (await Promise.all(lanes.map(runLane))).flat();

const sum = (count: (report: Report) => number): number =>
  reports.reduce((total, report) => total + count(report), 0);
const total: Report = {
  numPassedTests: sum(({ numPassedTests }) => numPassedTests),
  numFailedTests: sum(({ numFailedTests }) => numFailedTests),
  numPendingTests: sum(({ numPendingTests }) => numPendingTests),
};
process.stdout.write(
  `services: ${total.numPassedTests} passed, ${total.numFailedTests} failed, ${total.numPendingTests} skipped\n`,
);
const [, , reportPath] = process.argv;
if (reportPath !== undefined)
  writeFileSync(reportPath, JSON.stringify({ success: total.numFailedTests === 0, ...total }));
process.exit(total.numFailedTests === 0 ? 0 : 1);
