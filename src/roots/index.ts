/**
 * roots: the data root that a daemon serves.
 *
 * Lives here: which root is chosen, its marker, layout and lock, the hint that a serving daemon leaves, and the
 * note that a stop in order leaves.
 * Not here: what the folders hold; moving a root.
 * Promises: P8 in part: one daemon per root on this host.
 * May call: base, disk. Called by: daemon, cli.
 */
export * from './errors.ts';
export * from './layout.ts';
export * from './marker.ts';
export * from './resolve-root.ts';
export * from './daemon-file.ts';
export * from './closing-note.ts';
export * from './bind-root.ts';
export * from './restore-root.ts';
