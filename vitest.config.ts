import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** What takes most of the time: many real daemons, and power lost at every step. `npm run test:heavy` runs these and nothing else. */
const heavy = [
  'test/backup/**/*.test.ts',
  'test/crash/**/*.test.ts',
  'test/disk-format/reader.test.ts',
  'test/e2e/arming.test.ts',
  'test/e2e/backup-docs.test.ts',
  'test/e2e/backup.test.ts',
  'test/e2e/canary.test.ts',
  'test/e2e/failpoints.test.ts',
  'test/e2e/few-descriptors.test.ts',
  'test/e2e/kill-respawn.test.ts',
  'test/e2e/operations-docs.test.ts',
  'test/e2e/queue-*.test.ts',
  'test/e2e/recovery.test.ts',
  'test/e2e/serve.test.ts',
  'test/e2e/session-delete.test.ts',
  'test/e2e/requeue-job.test.ts',
  'test/e2e/retention.test.ts',
  'test/e2e/stopped-daemon.test.ts',
  'test/faults/**/*.test.ts',
  'test/graph/kill.test.ts',
  'test/lab/**/*.test.ts',
  'test/scenarios/daemon-life.test.ts',
  'test/state/full-disk.test.ts',
  'test/state/kill.test.ts',
];
const isHeavy = process.env['HEAVY_TESTS'] === 'only';

const config: ViteUserConfig = defineConfig({
  test: {
    include: isHeavy ? heavy : ['test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/services/**', 'node_modules/**', ...(isHeavy ? [] : heavy)],
    pool: 'forks',
    // Two cores are the reference machine; real child daemons share them with the runner.
    maxWorkers: 2,
    // Worker threads and child processes of the tests read the sources stripped and compiled: 0.1 s of each start instead of 0.4 s.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/millrace-compiled') },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A condition is waited for as long as a busy machine may need; the default of 1 s is less than a start of a daemon takes there.
    expect: { poll: { timeout: 30_000 } },
  },
});

export default config;
