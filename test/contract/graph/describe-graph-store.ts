import { describe, it } from 'vitest';
import { cypherChecks } from './cyphering.ts';
import { delegateChecks } from './delegating.ts';
import { deriveChecks } from './deriving.ts';
import { exportChecks } from './exporting.ts';
import type { GraphCheck, GraphPlug } from './harness.ts';
import { mergeChecks } from './merging.ts';
import { queryChecks } from './querying.ts';
import { refusalChecks } from './refusals.ts';
import { rowChecks } from './rows.ts';

/** Every promise of a graph store; a plug is done when all of them hold. */
export const graphChecks: readonly GraphCheck[] = [
  ...rowChecks,
  ...refusalChecks,
  ...mergeChecks,
  ...deriveChecks,
  ...delegateChecks,
  ...cypherChecks,
  ...exportChecks,
  ...queryChecks,
];

/** The checks that a plug must pass: for what it cannot do, the negative one. */
export function checksFor(plug: GraphPlug): readonly GraphCheck[] {
  const foreign = plug.hasQueries ? 'no-queries' : 'queries';
  return graphChecks.filter(({ needs }) => needs !== foreign);
}

/** The contract of GraphStore (ING-850…856), run unchanged on every plug. */
export function describeGraphStore(name: string, plug: GraphPlug): void {
  describe(`${name} as a graph store`, () => {
    for (const check of checksFor(plug)) it(check.name, () => runGraphCheck(check, plug));
  });
}

/** Runs one check in a place of its own. */
export async function runGraphCheck(check: GraphCheck, plug: GraphPlug): Promise<void> {
  const harness = await plug.makeHarness();
  try {
    await check.run(harness);
  } finally {
    await harness.dispose();
  }
}
