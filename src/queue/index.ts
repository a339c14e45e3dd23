/**
 * queue: what a queue promises.
 *
 * Lives here: the QueueBackend socket (ten members), beside it the ledger and what only a queue of log files can do, per-key locks, limits, the
 * protocol's version and the check of a plug.
 * Not here: any storage; backends live in queue-backends/.
 * Promises: P1, P2, P3, P4 as duties of every backend; test/contract/queue holds them.
 * May call: base, record, state. Called by: queue-backends, ingest, drain, dead-letters, ops, daemon.
 */
export * from './backend.ts';
export * from './errors.ts';
export { assertHeld, type KeyGuard } from './key-hold.ts';
export * from './limits.ts';
export * from './log-repair.ts';
export * from './locks.ts';
export type * from './graph-bond.ts';
export type * from './log-structured.ts';
export * from './owner-thread.ts';
export * from './ownership.ts';
export * from './protocol.ts';
export * from './require-capability.ts';
