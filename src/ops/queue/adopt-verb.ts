import { Type } from 'typebox';
import type { AdoptCause, AdoptChange, AdoptReport } from '#drain';
import { parseKey, type Key } from '#record';
import { keyUnknown } from '../errors.ts';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const causes: Readonly<Record<AdoptCause, string>> = {
  missing:
    'have no row in the graph: their row is set, and the event ids of what was applied are forgotten, so that files can be posted again',
  behind:
    'are further than the graph: their row is set forward, and what the graph lacks in between stays missing until it is replayed',
  ahead: 'are behind the graph: their row is set back, and records behind it are folded again',
  foreign: 'have the row of another root: it becomes ours',
  unknown: 'are known to the graph alone: their row is taken away',
};

export const graphAdoptVerb: Verb = defineVerb({
  name: 'graph adopt',
  summary:
    'makes queue and graph know each other again; shows what it would do unless dry_run is false',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      key: Type.Optional(Type.String({ maxLength: 200 })),
      dry_run: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    keys: Type.Integer(),
    count: Type.Integer(),
    /** What it does, or would do, in words. */
    steps: Type.Array(Type.String()),
    changes: Type.Array(
      Type.Object({
        key: Type.String(),
        cause: Type.String(),
        reason: Type.String(),
        from: Type.Union([Type.String(), Type.Null()]),
        to: Type.Union([Type.String(), Type.Null()]),
      }),
    ),
    ids_forgotten: Type.Integer(),
    graph_before: Type.Union([Type.String(), Type.Null()]),
    graph_id: Type.String(),
  }),
  countOf: ({ count }) => count,
  http: { method: 'POST', path: '/v1/graph/adopt' },
  async run(context, input, caller) {
    requireAllWorkspaces(caller, 'an adopt');
    const isDryRun = input.dry_run !== false;
    const key = input.key === undefined ? undefined : keyOf(input.key);
    const report = await context.adopt({ key, isDryRun, signal: caller.signal });
    const { changed, changes, idsForgotten, graphBefore, graphId } = report;
    return {
      dry_run: isDryRun,
      keys: report.keys,
      count: Object.values(changed).reduce((sum, count) => sum + count, 0),
      steps: stepsOf(report),
      changes: changes.map(shown),
      ids_forgotten: idsForgotten,
      graph_before: graphBefore,
      graph_id: graphId,
    };
  },
});

function keyOf(text: string): Key {
  const key = parseKey(text);
  if (key === undefined) throw keyUnknown({ key: text });
  return key;
}

function shown({ key, cause, reason, from, to }: AdoptChange) {
  return { key, cause, reason, from: from?.position ?? null, to: to?.position ?? null };
}

function stepsOf({ changed, graphBefore, graphId }: AdoptReport): string[] {
  const steps = (Object.keys(causes) as AdoptCause[])
    .filter((cause) => changed[cause] > 0)
    .map((cause) => `${changed[cause]} of the keys ${causes[cause]}`);
  if (graphBefore !== null && graphBefore !== graphId)
    steps.push(`the root belongs to the graph ${graphId} instead of ${graphBefore}`);
  return steps.length === 0 ? ['queue and graph know each other: nothing is to do'] : steps;
}
