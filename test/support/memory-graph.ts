export {
  emptyMemoryGraph,
  openMemoryGraph,
  type MemoryGraph,
  type MemoryGraphContent,
} from '#graph/memory';
