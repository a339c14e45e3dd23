/**
 * drain: from the log to the graph, in order, once.
 *
 * Lives here: workers and their registry, batch plans (pure), group apply, isolation of poison, arming, the adopt of a graph, supervision, graceful stop.
 * Not here: what an event means (handlers), how a graph or a queue stores.
 * Promises: P3, P4, P5, P9, P10, P12.
 * May call: base, signals, disk (failpoints), record, fence, objects, queue, graph, handlers. Called by: ops, daemon.
 */
export * from './drain.ts';
export * from './settings.ts';
export * from './errors.ts';
export * from './create-drain.ts';
export * from './adopt-graph.ts';
export * from './cursor-fold.ts';
export { suspectKeys, type SuspectDependencies } from './suspect-keys.ts';
export type { AdoptCause, AdoptChange } from './plan-adopt.ts';
export type { Fold } from './plan-batch.ts';
