/**
 * state: LMDB beside the logs.
 *
 * Lives here: dedup index, key rows that outlive the logs; every write passes a permit. A store in memory for tests.
 * Not here: truth. The journal's frames are the truth; this is caught up from them.
 * Promises: P4 (with the frames), P6.
 * May call: base, signals, disk, record, fence. Called by: queue backends, daemon.
 */
export * from './state-store.ts';
export * from './errors.ts';
export * from './lmdb-state.ts';
export * from './guarded-open.ts';
export * from './memory-state.ts';
export { hashOfId } from './state-keys.ts';
