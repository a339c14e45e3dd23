/**
 * dead-letters: what operators do with records that could not be applied.
 *
 * Lives here: list, show, requeue (a new append), discard; their page tokens and filters.
 * Not here: making a letter (drain), storing it (queue backends).
 * Promises: P4: a letter leaves only by a named act, in one durable step with its effect.
 * May call: base, signals, record, queue. Called by: ops.
 */
export * from './dead-letters.ts';
export * from './create-dead-letters.ts';
export * from './errors.ts';
export * from './create-dead-letters.ts';
