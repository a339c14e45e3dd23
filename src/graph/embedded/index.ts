/**
 * graph/embedded: the graph store on node:sqlite, in threads of its own.
 *
 * Lives here: schema, writer and reader threads, what crosses between them, classification of SQLite's errors.
 * Not here: what a mutation means; merge, derivation and canonical form are the rules of room graph, the same for every store.
 * Promises: P3, P5, P6, P12 as duties of every GraphStore; test/contract/graph holds them.
 * May call: base, disk, record, fence, the rules of graph. Called by: daemon.
 */
export * from './embedded-graph.ts';
export type { GraphCheck } from './wire.ts';
export { openCopySource } from './copy-source.ts';
export { openRowsAtRest, type RowsAtRest } from './rows-at-rest.ts';
export { openCopyTarget } from './copy-target.ts';
