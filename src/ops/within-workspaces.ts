import { forbidden } from '#access';
import type { Caller } from './verb.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** A caller with some workspaces asks about these alone, whatever it names (FORBIDDEN for another). */
export function withinWorkspaces(parameters: Parameters, caller: Caller): Parameters {
  const own = caller.workspaces;
  if (own === undefined) return parameters;
  const given = parameters['workspace'] ?? own;
  const names: readonly unknown[] = Array.isArray(given) ? given : [given];
  const foreign = names.filter((name) => !own.some((one) => one === name));
  if (names.length === 0 || foreign.length > 0)
    throw forbidden({ reason: `this token may use the workspaces ${own.join(', ')} and no other` });
  return { ...parameters, workspace: names };
}
