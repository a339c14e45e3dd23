/**
 * config: every setting, once.
 *
 * Lives here: the schema (kind, default, help), loading from flags, environment and file, contradictions, the effective list, what a reload
 * may change, the JSON schema and the commented file; process.env.
 * Not here: reading files (the text is handed in), and what a setting does.
 * Promises: P9: each limit has its default written here; a wrong setting stops the start with all problems at once (ING-931).
 * May call: base. Called by: signals, ingest (rules), cli, daemon.
 */
export * from './key-spec.ts';
export * from './schema.ts';
export * from './errors.ts';
export * from './environment.ts';
export * from './load-config.ts';
export * from './effective-config.ts';
export * from './live-config.ts';
export * from './json-schema.ts';
export * from './config-template.ts';
export * from './redact-rules.ts';
