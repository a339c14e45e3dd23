/**
 * access: who may do what.
 *
 * Lives here: principals, scopes, workspaces, the token book, the rules for Host and Origin, whether a daemon may listen without tokens.
 * Not here: HTTP (headers come in as text, answers leave as errors), what a verb or an event needs.
 * Promises: none of P1 to P12; ING-016 and ING-018: secrets are shown once and kept as hashes.
 * May call: base, disk. Called by: ingest, ops, http, daemon, cli (offline tokens).
 */
export * from './errors.ts';
export * from './scopes.ts';
export * from './principal.ts';
export * from './loopback.ts';
export * from './check-browser.ts';
export * from './token-store.ts';
export * from './access.ts';
