// Prints "passed failed skipped" of a test report; fails when the report is missing or counts no suite.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const passed = report.numPassedTests ?? 0;
const failed =
  (report.numFailedTests ?? 0) + (report.success === false && !report.numFailedTests ? 1 : 0);
const skipped = (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
console.log(`${passed} ${failed} ${skipped}`);
