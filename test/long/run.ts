/**
 * What takes longer than a continuous run may: kills by the thousand, every crash of many lives, every call that can fail, big roots, large
 * backlogs. Prints one line per part and keeps each part's last result in test/long/last.json: what was tried, at which scale and commit,
 * what failed, how long it took. A run of some parts leaves the results of the others as they are.
 *
 *     npm run test:long -- [--scale 0.01] [--only WORD]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { scale: { type: 'string', default: '1' }, only: { type: 'string', default: '' } },
});
const scale = Number(values.scale);
const repository = fileURLToPath(new URL('../../', import.meta.url));
const outputBytesMax = 64 * 1024 * 1024;

/** What a part has to say of itself. */
interface Outcome {
  readonly passed: boolean;
  readonly counts?: Readonly<Record<string, unknown>>;
  readonly failures?: readonly unknown[];
}

interface Part {
  readonly name: string;
  run(): Outcome;
}

function scaled(count: number): string {
  return String(Math.max(1, Math.round(count * scale)));
}

/** An experiment of `millrace lab`; its report is the outcome. */
function lab(word: string, ...options: readonly string[]): Outcome {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['bin/millrace.js', 'lab', word, ...options, '--json'],
    {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      maxBuffer: outputBytesMax,
    },
  );
  if (status === null || stdout === '') return { passed: false };
  const { counts, failures } = JSON.parse(stdout) as Required<Outcome>;
  return { passed: status === 0, counts, failures };
}

/** Test files with more of everything. */
function suite(file: string, environment: Readonly<Record<string, string>>): Outcome {
  const { status } = spawnSync('vitest', ['run', '--testTimeout=7200000', file], {
    cwd: repository,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  return { passed: status === 0, counts: environment };
}

/** A script whose last line is its outcome. */
function script(...order: readonly string[]): Outcome {
  const { status, stdout } = spawnSync(process.execPath, order, {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: outputBytesMax,
  });
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) return { passed: false };
  return { ...(JSON.parse(last) as Outcome), passed: status === 0 };
}

const smallRecordBytes = 200;

const parts: readonly Part[] = [
  { name: 'kills', run: () => lab('kill', '--rounds', scaled(2000), '--seed', '1') },
  { name: 'power losses', run: () => lab('sweep', '--lives', scaled(60), '--seed', '1') },
  { name: 'model', run: () => lab('model', '--commands', scaled(2_000_000), '--seed', '1') },
  {
    name: 'faults',
    run: () => lab('faults', '--every', String(Math.min(1000, Math.round(1 / scale)))),
  },
  { name: 'damage', run: () => lab('damage', '--rounds', scaled(500), '--seed', '1') },
  { name: 'races', run: () => lab('race', '--rounds', scaled(5000)) },
  {
    name: 'confluence',
    run: () => suite('test/drain/confluence.test.ts', { CONFLUENCE_RUNS: scaled(10_000) }),
  },
  { name: 'Cypher', run: () => script('test/long/cypher.ts', '--runs', scaled(20_000)) },
  {
    name: 'a hostile operator',
    run: () => script('test/long/hostile-operator.ts', '--rounds', scaled(200)),
  },
  { name: '100,000 idle sessions', run: () => script('test/long/big-root.ts') },
  {
    name: 'a backlog of 2 GiB under 512 MiB',
    run: () => script('test/long/large-backlog.ts', '--mib', scaled(2048)),
  },
  {
    name: 'a backlog of 10,000,000 records under 512 MiB',
    run: () =>
      script(
        'test/long/large-backlog.ts',
        '--mib',
        scaled((10_000_000 * smallRecordBytes) / 2 ** 20),
        '--record-bytes',
        String(smallRecordBytes),
      ),
  },
];

interface Result extends Outcome {
  readonly name: string;
  readonly scale: number;
  readonly commit: string;
  readonly node: string;
  readonly seconds: number;
}

const kept = fileURLToPath(new URL('last.json', import.meta.url));

/** Keeps `result` in the place of the part's former one; parts stand in the order of `parts`. */
function keep(result: Result): void {
  const former = existsSync(kept) ? (JSON.parse(readFileSync(kept, 'utf8')) as Result[]) : [];
  const byName = new Map(former.map((each) => [each.name, each]));
  byName.set(result.name, result);
  const results = parts.map(({ name }) => byName.get(name)).filter((each) => each !== undefined);
  writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`);
}

const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
  cwd: repository,
  encoding: 'utf8',
}).stdout.trim();

const results = parts
  .filter(({ name }) => name.includes(values.only))
  .map(({ name, run }) => {
    const began = performance.now();
    const outcome = run();
    const seconds = Math.round((performance.now() - began) / 1000);
    const result = { name, scale, commit, node: process.version, ...outcome, seconds };
    process.stdout.write(`${JSON.stringify(result)}\n`);
    keep(result);
    return result;
  });

process.exit(results.length > 0 && results.every(({ passed }) => passed) ? 0 : 1);
