/**
 * cli: the command line.
 *
 * Lives here: the words of each verb, how it finds its daemon, what it prints, exit codes; serve, post, demo, doctor.
 * Folders: `serve` (daemon, service, settings, tokens), `post`, `watch`, `verbs` (those of room ops, and their tables), `queue` and `graph` (on a
 * root without a daemon), `doctor`, `commands` (what takes one file).
 * Not here: decisions; a verb that needs the daemon is a verb of room ops, reached over HTTP.
 * Promises: the CLI's one switch on the disposition gives the exit code (D15, D20).
 * May call: every room below. Called by: bin/.
 */
export { main } from './main.ts';
