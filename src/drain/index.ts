/**
 * drain: from the log to the graph, in order, once.
 *
 * Lives here: workers and their registry, batch plans (pure), group apply, isolation of poison, arming, the adopt of a graph, supervision, graceful stop.
 * Folders: `worker` (one session's round), `fold` (batch plans, and the thread that makes them), `arm` (which sessions have work, and what the graph has
 * of them already), `pace` (how much of the cores the drain takes while clients want them).
 * Not here: what an event means (handlers), how a graph or a queue stores.
 * Promises: P3, P4, P5, P9, P10, P12.
 * May call: base, signals, disk (failpoints), record, fence, objects, queue, graph, handlers. Called by: ops, daemon.
 */
export * from './drain.ts';
export * from './settings.ts';
export * from './errors.ts';
export * from './create-drain.ts';
export * from './arm/adopt-graph.ts';
export * from './fold/cursor-fold.ts';
export { compareRow, proveRow, type LogSide, type RowVerdict } from './arm/compare-row.ts';
export { suspectKeys, type SuspectDependencies } from './arm/suspect-keys.ts';
export type { AdoptCause, AdoptChange } from './arm/plan-adopt.ts';
export type { Fold } from './fold/plan-batch.ts';
