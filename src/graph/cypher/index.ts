/**
 * cypher: the read-only Cypher of graphs that have no Cypher of their own (docs/cypher.md).
 *
 * Lives here: words, tree, compiler and evaluator of the subset; pure over a GraphView, which a store gives.
 * Not here: SQL, threads, limits of a door. Clauses that write are refused by name and place.
 */
export {
  checkCypher,
  CypherRunner,
  type CheckedQuery,
  type CypherLimits,
  type CypherRequest,
} from './run-cypher.ts';
export { durationText } from './duration.ts';
export type { Budget, Direction, GraphView, Neighbour, WantedText } from './view.ts';
export { CypherMap, StoredMap, valueOf, type NodeValue, type RelationshipValue } from './values.ts';
