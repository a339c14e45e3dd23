import { defineError, type ErrorFactory } from '#base';

/** The store is away or cannot write: full, unreadable, its thread died. Records wait in the queue (ING-511). */
export const graphUnavailable: ErrorFactory<{ reason: string }> = defineError(
  'GRAPH_UNAVAILABLE',
  'retry',
  ({ reason }) =>
    `the graph does not answer (${reason}): records wait in the queue and are applied once it does`,
);

/** Its file is not what SQLite wrote: found when it is opened. */
export const graphCorrupt: ErrorFactory<{ path: string; reason: string }> = defineError(
  'GRAPH_CORRUPT',
  'corrupt',
  ({ path, reason }) =>
    `the graph ${path} is damaged (${reason}): restore the root from a backup; or move graph.db aside with what lies beside it, start with an empty graph, and see "millrace graph adopt"`,
);

/** Damage that a read or a write has met in a graph that is served. Nothing more is written into it; records wait in the queue (P3, P7). */
export const graphDamaged: ErrorFactory<{ reason: string }> = defineError(
  'GRAPH_DAMAGED',
  'retry',
  ({ reason }) =>
    `the graph is damaged (${reason}): nothing more is written into it, records wait in the queue; stop the daemon, restore the root from a backup, or move graph.db aside with what lies beside it, start with an empty graph, and see "millrace graph adopt"`,
);

/** Another writer was in the way; the same group may go through at once. */
export const graphConflict: ErrorFactory<{ reason: string }> = defineError(
  'GRAPH_CONFLICT',
  'retry',
  ({ reason }) => `another writer holds the graph (${reason}): the same group is tried again`,
);

/** The store refuses us: rights of the file, credentials. */
export const graphDenied: ErrorFactory<{ reason: string }> = defineError(
  'GRAPH_DENIED',
  'retry',
  ({ reason }) =>
    `the graph refuses this daemon (${reason}): give it the right to write; records wait in the queue`,
);

/** Graph and queue do not belong together (ING-541, FEN-402). */
export const graphMismatch: ErrorFactory<{ thing: string; expected: string; found: string }> =
  defineError(
    'GRAPH_MISMATCH',
    'corrupt',
    ({ thing, expected, found }) =>
      `${thing} of the graph is ${found}, expected ${expected}: this graph belongs to another root or another time; bring the right graph back or run "millrace graph adopt"`,
  );

/** What a fold returned cannot be applied, on any store (D28). */
export const mutationRefused: ErrorFactory<{ session: string; reason: string }> = defineError(
  'MUTATION_REFUSED',
  'poison',
  ({ session, reason }) =>
    `the graph takes no such mutation from a record of session ${session}: ${reason}`,
);

export const queryUnknown: ErrorFactory<{ name: string; known: readonly string[] }> = defineError(
  'QUERY_UNKNOWN',
  'reject',
  ({ name, known }) => `there is no query ${JSON.stringify(name)}: there are ${known.join(', ')}`,
);

export const queryInvalid: ErrorFactory<{ name: string; parameter: string; reason: string }> =
  defineError(
    'QUERY_INVALID',
    'reject',
    ({ name, parameter, reason }) => `query ${name}: parameter ${parameter} ${reason}`,
  );

export const queryTimeout: ErrorFactory<{ name: string; limitMs: number }> = defineError(
  'QUERY_TIMEOUT',
  'reject',
  ({ name, limitMs }) =>
    `query ${name} was stopped after ${limitMs} ms: name a workspace or a session, or lower its limit`,
);

/** A Cypher query would hold more rows than one may. */
export const queryTooLarge: ErrorFactory<{ held: number }> = defineError(
  'QUERY_TOO_LARGE',
  'reject',
  ({ held }) =>
    `the query holds more than ${held} rows or values at once: narrow it by a label, a property or a WHERE`,
);
