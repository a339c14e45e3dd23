/**
 * handlers: what each event means in the graph: pure folds over the cursor, one file per event family.
 *
 * Lives here: fold, dispatch, node ids, labels, run resolution, what of an event becomes a property, what is moved away for its size.
 * Not here: reading a graph or a clock, applying, values that two sessions know together (the store derives them).
 * Promises: P5, P12.
 * May call: base, record, graph (its words). Called by: drain, queue verify.
 */
export * from './fold.ts';
export * from './seed-cursor.ts';
export * from './errors.ts';
export type { SpilledValue } from './settle.ts';
