/**
 * console: the files of the web console.
 *
 * Lives here: which paths the console has, what their bytes are and by which rules a browser may use them.
 * Not here: HTTP, tokens, and what the pages show: they are in folder `console/`, run in a browser and speak the public HTTP API alone.
 * Promises: none of its own; no path from a request ever reaches a file system, and no script but ours runs (P9).
 * May call: base, disk. Called by: http, daemon.
 */
export * from './pages.ts';
export { consoleHeaders } from './headers.ts';
