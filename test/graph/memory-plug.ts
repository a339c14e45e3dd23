import type { GraphHarness, GraphPlug } from '../contract/graph/harness.ts';
import { emptyMemoryGraph, openMemoryGraph, type MemoryGraph } from '../support/memory-graph.ts';

export const memoryPlug: GraphPlug = {
  hasQueries: false,
  async makeHarness(): Promise<GraphHarness> {
    const content = emptyMemoryGraph();
    let store: MemoryGraph | undefined;
    const reopen: GraphHarness['reopen'] = async (options) => {
      await store?.close();
      store = openMemoryGraph({ content, ...options });
      return store;
    };
    return { open: reopen, reopen, dispose: async () => store?.close() };
  },
};
