/**
 * http: the public door.
 *
 * Lives here: routes, bodies and their limits, authentication of requests, the error envelope and the table of statuses, probes.
 * Folders: `doors` (ways in for events, one style for each protocol), `fast-path` (plain requests for events past Node's own HTTP), `failures`
 * (errors as answers).
 * Not here: decisions; it translates requests for ingest and for the verbs, and their answers back.
 * Promises: P9 (bodies are limited before work), and that trouble which may pass is 429 or 503 with Retry-After (D13).
 * May call: base, signals, disk, queue, access, formats, ingest, ops, console. Called by: daemon.
 */
export * from './errors.ts';
export * from './health.ts';
export * from './failures/status-of-code.ts';
export * from './create-http-server.ts';
