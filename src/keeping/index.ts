/**
 * keeping: what goes for good, by an operator's word or by a retention that an operator has set.
 *
 * Lives here: what a root takes on disk, and what of it is given back; the deletion of sessions over all stores, and the order of its steps (session-removal.ts); which puts to the objects come
 * between a look and a deletion.
 * Not here: how a store takes its part out; each has one repeatable step of its own (`KeyRemoval`, `GraphRemoval`, `LocalObjects.remove`).
 * Promises: P4 as a rule: nothing that waits is deleted; a deletion that was cut off is carried to its end by the next start.
 * May call: base, signals, disk, control, fence, record, objects, queue, graph, drain. Called by: ops, daemon.
 */
export * from './errors.ts';
export * from './measure-storage.ts';
export * from './vacuum.ts';
export * from './session-removal.ts';
export * from './removals-at-rest.ts';
export * from './watched-objects.ts';
export * from './retention/index.ts';
