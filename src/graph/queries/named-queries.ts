import { queryUnknown } from '../errors.ts';
import { errors } from './errors.ts';
import { filesTouched } from './files-touched.ts';
import type { NamedQuery } from './named-query.ts';
import { sessionTree } from './session-tree.ts';
import { sessions } from './sessions.ts';
import { timeline } from './timeline.ts';
import { tokenUsage } from './token-usage.ts';
import { toolCalls } from './tool-calls.ts';

/** Every named query, in the order of a help text. */
export const namedQueries: readonly NamedQuery[] = [
  sessions,
  sessionTree,
  toolCalls,
  filesTouched,
  errors,
  timeline,
  tokenUsage,
];

/** QUERY_UNKNOWN where there is none of this name. */
export function namedQuery(name: string): NamedQuery {
  const query = namedQueries.find((known) => known.name === name);
  if (query === undefined)
    throw queryUnknown({ name, known: namedQueries.map((known) => known.name) });
  return query;
}
