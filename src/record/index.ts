/**
 * record: events, records, positions, cursors: shapes and their parsers; pure.
 *
 * Lives here: key encoding, position, log line, cursor and its bounds, event envelope, timestamps, content digest.
 * Not here: frames of a backend, files, HTTP.
 * Promises: P2 (positions sort in log order), P5 (one parser for every reader).
 * May call: base. Called by: every room above.
 */
export * from './key.ts';
export * from './check-ids.ts';
export * from './session-node-id.ts';
export * from './position.ts';
export * from './timestamp.ts';
export * from './cursor.ts';
export * from './parse-cursor.ts';
export * from './cursor-map.ts';
export * from './log-record.ts';
export * from './accepted-event.ts';
export * from './anonymous.ts';
export * from './parse-event.ts';
export * from './scan-event.ts';
export * from './build-line.ts';
export * from './parse-line.ts';
export * from './content-digest.ts';
