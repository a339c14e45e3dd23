/**
 * Runs the suites that need a real service. Each suite names its service; one that cannot be had is reported as skipped with the reason.
 * No capability built so far needs a service, so the list is empty and says so.
 */
import { writeFileSync } from 'node:fs';

interface ServiceSuite {
  readonly service: string;
  readonly files: readonly string[];
}

const suites: readonly ServiceSuite[] = [];

const report = process.argv[2];
process.stdout.write(
  `${suites.length} suites need a service: the embedded profile needs none, and the shared stores are not built yet\n`,
);
if (report !== undefined) {
  writeFileSync(
    report,
    JSON.stringify({ success: true, numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }),
  );
}
