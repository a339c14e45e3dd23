/**
 * record: events, records, positions, cursors: shapes and their parsers; pure.
 *
 * Lives here: key encoding, position, log line, cursor, event envelope, content digest.
 * Not here: frames of a backend, files, HTTP.
 * Promises: P2 (positions sort in log order), P5 (one parser for every reader).
 * May call: base. Called by: every room above.
 */
export * from './key.ts';
export * from './position.ts';
export * from './cursor.ts';
export * from './log-record.ts';
