import { describe, expect, it } from 'vitest';
import { checksFor, runGraphCheck } from '../contract/graph/describe-graph-store.ts';
import type { GraphCheck, GraphHarness, GraphPlug } from '../contract/graph/harness.ts';
import { graphDefects, type GraphDefect } from '../mutants/graph-defects.ts';
import { memoryPlug } from './memory-plug.ts';

function broken({ wrap }: GraphDefect): GraphPlug {
  return {
    ...memoryPlug,
    async makeHarness(): Promise<GraphHarness> {
      const inner = await memoryPlug.makeHarness();
      return {
        open: async (options) => wrap(await inner.open(options)),
        reopen: async (options) => wrap(await inner.reopen(options)),
        dispose: () => inner.dispose(),
      };
    },
  };
}

/** Names of the checks that catch the plug. */
async function caughtBy(plug: GraphPlug): Promise<readonly string[]> {
  const caught = await Promise.all(checksFor(plug).map((check) => failureOf(check, plug)));
  return caught.filter((name) => name !== undefined);
}

async function failureOf(check: GraphCheck, plug: GraphPlug): Promise<string | undefined> {
  try {
    await runGraphCheck(check, plug);
    return undefined;
  } catch {
    return check.name;
  }
}

describe('the contract of graph stores', () => {
  it('finds nothing in a sound store', async () => {
    expect(await caughtBy(memoryPlug)).toEqual([]);
  });

  for (const defect of graphDefects) {
    it(`catches a store that ${defect.name}`, async () => {
      expect(await caughtBy(broken(defect))).not.toEqual([]);
    });
  }
});
