/**
 * control: the control database of a root.
 *
 * Lives here: the SQLite file, its numbered migrations, lease rows and their history, acts of operators, jobs and their results.
 * Not here: who may write; room fence decides that from the rows.
 * Promises: P6: a generation is given once and never falls.
 * May call: base, disk. Called by: fence, dead-letters, ops, daemon, cli.
 */
export * from './errors.ts';
export * from './migrations.ts';
export * from './leases.ts';
export * from './operations.ts';
export * from './jobs.ts';
export type * from './removals.ts';
export { removalsAtRest } from './removals.ts';
export type * from './expired-objects.ts';
export * from './control-database.ts';
