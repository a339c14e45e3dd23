/**
 * graph/memory: a graph store over maps: every duty of one but that of outliving the process, with faults on order.
 * For tests and the laboratory.
 */
export {
  copyMemoryGraph,
  emptyMemoryGraph,
  openMemoryGraph,
  type MemoryGraph,
  type MemoryGraphContent,
} from './memory-graph.ts';
