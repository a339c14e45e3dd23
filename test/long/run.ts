/**
 * What takes longer than a continuous run may: kills by the hundred, big roots, large backlogs. Prints one line per part and keeps the last result in test/long/last.json.
 *
 *     npm run test:long -- [--rounds N]
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '300' } } });
const repository = fileURLToPath(new URL('../../', import.meta.url));

interface Part {
  readonly name: string;
  /** Arguments of `vitest run`, or of node for a script of its own. */
  readonly files: readonly string[];
  readonly isScript?: true;
  readonly environment: Readonly<Record<string, string>>;
}

const parts: readonly Part[] = [
  {
    name: `kill -9 and respawn, ${values.rounds} rounds`,
    files: ['test/e2e/kill-respawn.test.ts'],
    environment: { KILL_ROUNDS: values.rounds },
  },
  {
    name: '100,000 idle sessions',
    files: ['test/long/big-root.ts'],
    isScript: true,
    environment: {},
  },
  {
    name: 'a backlog of 2 GiB under 512 MiB',
    files: ['test/long/large-backlog.ts', '--mib', '2048'],
    isScript: true,
    environment: {},
  },
];

const results = parts.map(({ name, files, isScript, environment }) => {
  const began = performance.now();
  const [program, order] =
    isScript === true
      ? [process.execPath, files]
      : ['vitest', ['run', '--testTimeout=7200000', ...files]];
  const { status } = spawnSync(program, order, {
    cwd: repository,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  const result = {
    name,
    passed: status === 0,
    seconds: Math.round((performance.now() - began) / 1000),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result;
});

writeFileSync(
  fileURLToPath(new URL('last.json', import.meta.url)),
  `${JSON.stringify({ at: new Date().toISOString(), node: process.version, results }, null, 2)}\n`,
);
process.exit(results.every(({ passed }) => passed) ? 0 : 1);
