import { describe, expect, it } from 'vitest';
import { checkGroups } from './checks.ts';
import type { QueueCheck, QueueHarness } from './harness.ts';

/**
 * One suite for every queue. A harness that has no way to show an ability gets a test that says so by name in place of each check that
 * needs it: nothing is passed over in silence.
 */
export function describeQueue(name: string, makeHarness: () => Promise<QueueHarness>): void {
  describe(`queue ${name}`, () => {
    for (const [group, checks] of Object.entries(checkGroups))
      describe(group, () => {
        for (const check of checks)
          it(check.name, async () => {
            const harness = await makeHarness();
            try {
              const missing = missingIn(harness, check);
              if (missing === undefined) await check.run(harness);
              else
                expect(
                  harness[missing],
                  `the harness of ${name} has no ${missing}`,
                ).toBeUndefined();
            } finally {
              await harness.dispose();
            }
          });
      });
  });
}

function missingIn(
  harness: QueueHarness,
  check: QueueCheck,
): NonNullable<QueueCheck['needs']>[number] | undefined {
  return check.needs?.find((ability) => harness[ability] === undefined);
}
