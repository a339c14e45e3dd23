/**
 * dead-letters: what operators do with records that could not be applied.
 *
 * Lives here: list, groups, show, preview, requeue (a new append), edit, discard; jobs over many letters; their page tokens and filters.
 * Not here: making a letter (drain), storing it (queue backends), the rows of a job (control).
 * Promises: P4: a letter leaves only by a named act, in one durable step with its effect.
 * May call: base, signals, disk (failpoints), record, control, queue, graph, handlers. Called by: ops.
 */
export * from './dead-letters.ts';
export * from './create-dead-letters.ts';
export * from './edit-letter.ts';
export * from './errors.ts';
export * from './expire-letters.ts';
export * from './group-letters.ts';
export * from './jobs.ts';
export type * from './preview-requeue.ts';
export * from './run-jobs.ts';
export * from './select-letters.ts';
