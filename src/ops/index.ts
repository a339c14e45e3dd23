/**
 * ops: every operator verb once.
 *
 * Lives here: verbs with name, input and output schema, effect, scope and HTTP form; the context that they run in;
 * operations: each act once per key, with its audit.
 * Folders: verbs by what they are about; beside them what all verbs share.
 * Not here: HTTP, the command line, authentication; they are views of these verbs.
 * Promises: P4 as a view: accepted = applied + pending + dead + discarded.
 * May call: base, config, signals, record, control, objects, queue, graph, access, drain, dead-letters, backup, keeping. Called by: http, daemon, cli.
 */
export * from './verb.ts';
export * from './queue/key-repair.ts';
export * from './ops-context.ts';
export * from './operations.ts';
export * from './verbs.ts';
export { degradations } from './daemon/status-verbs.ts';
export { summaryOf, type BackupLine, type BackupSummary } from './keeping/backup-verb.ts';
export * from './errors.ts';
