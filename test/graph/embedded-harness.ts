import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemChance, systemClock } from '#base';
import {
  openEmbeddedGraph,
  type EmbeddedGraphOptions,
  type EmbeddedGraphStore,
} from '#graph/embedded';
import type { GraphStore } from '#graph';
import { spillBytes } from '../support/graph-fixtures.ts';
import type { GraphHarness, GraphPlug } from '../contract/graph/harness.ts';

/** The embedded graph with defaults for all that a test does not care about. */
export function openTestGraph(
  path: string,
  options: Partial<EmbeddedGraphOptions> = {},
): Promise<EmbeddedGraphStore> {
  const defaults = { rootId: 'root', spillBytes, clock: systemClock, chance: systemChance };
  return openEmbeddedGraph({ path, ...defaults, ...options });
}

export const embeddedPlug: GraphPlug = {
  hasQueries: true,
  async makeHarness(): Promise<GraphHarness> {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-graph-'));
    let store: GraphStore | undefined;
    const reopen: GraphHarness['reopen'] = async (options) => {
      await store?.close();
      store = await openTestGraph(join(folder, 'graph.db'), options);
      return store;
    };
    return {
      open: reopen,
      reopen,
      async dispose() {
        await store?.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};
