/**
 * fence: who may write.
 *
 * Lives here: the daemon's tenure, permits, generations.
 * Not here: what is guarded; each guarded thing checks the permit where its bytes land.
 * Promises: P6.
 * May call: base, disk, control. Called by: state, graph, queue backends, daemon.
 */
export * from './errors.ts';
export * from './lab-permit.ts';
export * from './permit.ts';
export * from './tenure.ts';
