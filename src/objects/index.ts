/**
 * objects: put-once bytes.
 *
 * Lives here: the ObjectStore socket and its local plug.
 * Not here: what the bytes mean.
 * Promises: P11 for values: stored bytes are never overwritten, and a read proves them.
 * May call: base, disk. Called by: drain, http, daemon.
 */
export * from './object-store.ts';
export * from './errors.ts';
export * from './local-objects.ts';
