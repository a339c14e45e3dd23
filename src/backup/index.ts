/**
 * backup: a whole root in one folder, and back again.
 *
 * Lives here: the manifest, making a backup of a root that goes on working, verifying one, restoring one into an empty folder.
 * Not here: how a store takes its own snapshot; who may ask, and where to.
 * Promises: P1 and P11 for what is saved: half a backup or half a restore is never taken for a whole one, every byte is proven by its digest.
 * May call: base, disk, record, control, fence, state, queue, graph, roots. Called by: ops, daemon, cli.
 */
export * from './errors.ts';
export * from './manifest.ts';
export * from './sources.ts';
export * from './create-backup.ts';
export * from './verify-backup.ts';
export * from './restore-backup.ts';
