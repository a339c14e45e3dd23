/**
 * queue-backends/memory: a queue without a disk.
 *
 * Lives here: a whole QueueBackend and ledger over a store in memory, with syncs that a test can hold or fail.
 * Not here: survival of the process; nothing of it is on disk.
 * Promises: P2, P3, P4, P6, P9 as every backend; P1 towards a simulated crash only.
 * May call: base, record, fence, signals, queue. Called by: tests, benches.
 */
export * from './memory-queue.ts';
export { createMemoryStore, type MemoryStore } from './memory-store.ts';
