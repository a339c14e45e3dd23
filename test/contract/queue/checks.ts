import { appendChecks } from './append.ts';
import { commitChecks } from './commit.ts';
import { concurrencyChecks } from './concurrency.ts';
import { deadLetterChecks } from './dead-letters.ts';
import { dedupChecks } from './dedup.ts';
import { durabilityChecks } from './durability.ts';
import { fenceChecks } from './fence.ts';
import type { QueueCheck } from './harness.ts';
import { keyChecks } from './keys.ts';
import { ledgerChecks } from './ledger.ts';
import { lifecycleChecks } from './lifecycle.ts';
import { limitChecks } from './limits.ts';
import { readChecks } from './read.ts';

/** What every queue promises, by operation. */
export const checkGroups: Readonly<Record<string, readonly QueueCheck[]>> = {
  append: appendChecks,
  dedup: dedupChecks,
  read: readChecks,
  commit: commitChecks,
  'dead letters': deadLetterChecks,
  keys: keyChecks,
  ledger: ledgerChecks,
  limits: limitChecks,
  durability: durabilityChecks,
  concurrency: concurrencyChecks,
  lifecycle: lifecycleChecks,
  fence: fenceChecks,
};
