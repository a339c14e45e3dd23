/**
 * ingest: the one way in.
 *
 * Lives here: splitting a body into records, checking each in full, taking out what rules name, building its line, one append per request, the limits of admission.
 * Not here: HTTP, what an event means, how a queue stores.
 * Promises: P1 (with the queue: answered after the sync), P9.
 * May call: base, config, signals, record, queue, access. Called by: http, daemon.
 */
export * from './errors.ts';
export * from './ingest.ts';
export * from './byte-budget.ts';
export * from './locate-json-fault.ts';
export * from './create-ingest.ts';
export * from './live-redaction.ts';
