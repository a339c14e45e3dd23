/**
 * graph: what a graph store promises, and the words in which a fold speaks to it.
 *
 * Lives here: mutations, merge and derivation rules (pure), canonical form and digest, named queries, the GraphStore socket.
 * Not here: engines; they are the plugs graph/embedded and graph/neo4j.
 * Promises: P3, P5, P6, P12.
 * May call: base, record, fence. Called by: handlers, drain, ops, daemon.
 */
export * from './errors.ts';
export * from './mutation.ts';
export * from './canonical.ts';
export * from './check-graph.ts';
export * from './check-mutations.ts';
export * from './concept.ts';
export * from './copy-graph.ts';
export { bindParameters } from './queries/bind-parameters.ts';
export { queryRowsMax, type NamedQuery, type QueryParameter } from './queries/named-query.ts';
export { namedQueries, namedQuery } from './queries/named-queries.ts';
export { describeQuery, knowsColumn, type QueryDescription } from './queries/describe-query.ts';
export * from './store.ts';
export * from './removal.ts';
export * from './packed-part.ts';
export { cypherInvalid, cypherUnsupported } from './cypher/errors.ts';
