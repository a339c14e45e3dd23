/**
 * graph/neo4j: the graph store on a Neo4j 5 server, over one driver.
 *
 * Lives here: connection and classification of its errors, schema by migration, guards, what a merge must read, statements for what it changed.
 * Not here: what a mutation means; merge, derivation and canonical form are the rules of room graph, the same for every store.
 * Promises: P3, P5, P6, P12 as duties of every GraphStore; test/contract/graph holds them (run by test/services on a real server).
 * May call: base, record, fence, the rules of graph. Called by: daemon.
 */
export * from './neo4j-graph.ts';
export { openNeo4jCopySource, openNeo4jCopyTarget, type CopyEndOptions } from './copy-ends.ts';
