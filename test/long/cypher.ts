/**
 * The whole openCypher TCK on our evaluator, and random queries on both stores over a server that is started for it: `--runs N` of them, from
 * `--seed N` on. What this machine has no service for is told and passed over.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cannotFetchNeo4j, startNeo4j } from '../services/neo4j-server.ts';
import { cannotFetchTck } from '../services/tck/fetch.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
});

function passes(file: string, environment: Readonly<Record<string, string>>): boolean {
  const config = ['--config', 'test/services/services-config.ts', '--testTimeout=7200000'];
  const { status } = spawnSync('vitest', ['run', ...config, `test/services/${file}`], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  return status === 0;
}

async function onServer(): Promise<boolean> {
  const server = await startNeo4j();
  const environment = {
    TEST_NEO4J_URL: server.uri,
    CYPHER_FUZZ_RUNS: values.runs,
    CYPHER_FUZZ_SEED: values.seed,
  };
  try {
    return passes('cypher-fuzz.test.ts', environment);
  } finally {
    await server.dispose();
  }
}

const parts = [
  { missing: cannotFetchTck(), run: () => passes('cypher-tck.test.ts', {}) },
  { missing: cannotFetchNeo4j(), run: onServer },
];
let isPassed = true;
for (const { missing, run } of parts) {
  if (missing === undefined) isPassed = (await run()) && isPassed;
  else process.stdout.write(`skipped: ${missing}\n`);
}
process.exit(isPassed ? 0 : 1);
