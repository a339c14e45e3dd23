/**
 * disk: the only room that changes files.
 *
 * Lives here: the Disk interface, the node disk, memory, recording and failing disks, failpoints, atomic file, kernel file lock.
 * Not here: what the files mean.
 * Promises: P1 rests on `sync` and `syncDirectory` doing what they say.
 * May call: base, signals. Called by: every room that stores.
 */
export * from './disk.ts';
export * from './errors.ts';
export * from './platform-error.ts';
export * from './disk-fault.ts';
export * from './open-files.ts';
export * from './node-disk.ts';
export * from './staging-names.ts';
export * from './atomic-replace.ts';
export * from './durable-directory.ts';
export * from './copy-file.ts';
export * from './remove-tree.ts';
export * from './real-path.ts';
export * from './failpoints.ts';
export * from './lock-file.ts';
export * from './database-at-rest.ts';
export * from './who-holds.ts';
export * from './power-loss.ts';
export * from './memory-disk.ts';
export * from './recording-disk.ts';
export * from './crashes.ts';
export * from './failing-disk.ts';
