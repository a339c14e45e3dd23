import type { JsonValue } from '#base';
import { checkSessionId, sessionNodeId, type Cursor } from '#record';
import { boundedNodeId, ownedNodeId } from './node-id.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom, textOf } from './occurrence.ts';
import { begin, openRun, popRun, pushRun } from './recipe-cursor.ts';

/** `recipe:start`: a run of the session, or of the session that `parent_session_id` names; nested in the step that is active. */
export const foldRecipeStart: Family = (cursor, occurrence) => beginRun(cursor, occurrence);

/** `recipe:complete`: ends the innermost run; without one it is an event alone. */
export const foldRecipeComplete: Family = (cursor, occurrence) => {
  const { data, at } = occurrence;
  const run = openRun(cursor);
  if (run === undefined) return { cursor, drafts: [] };
  return {
    cursor: popRun(cursor),
    drafts: [
      runNode(
        run,
        { ended_at: at.canonical },
        { success: data['success'], final_status: data['final_status'] },
      ),
      sourcedFrom(occurrence, 'recipeRun', run),
    ],
  };
};

/** `recipe:loop_complete`: told of the run alone. */
export const foldLoopComplete: Family = (cursor, occurrence) => {
  const { data, at } = occurrence;
  const run = openRun(cursor);
  if (run === undefined) return { cursor, drafts: [] };
  const values = {
    last_loop_iterations_completed: data['iterations_completed'],
    last_loop_results_count: data['results_count'],
  };
  return { cursor, drafts: [runNode(run, { loop_completed_at: at.canonical }, values)] };
};

/** Begins a run: at `recipe:start`, and at an approval that comes first. */
export function beginRun(
  before: Cursor,
  occurrence: Occurrence,
): { readonly cursor: Cursor; readonly drafts: readonly Draft[] } {
  const { data, at, atText, sessionNode, seq } = occurrence;
  const bare = ownedNodeId(sessionNode, 'recipe_run', atText);
  const { cursor, id } = begin(before, seq, bare);
  const parent = parentOf(occurrence);
  const node = runNode(
    id,
    { started_at: at.canonical },
    {
      name: nameOf(occurrence) ?? '',
      total_steps: data['total_steps'],
      status: data['status'],
      parent_session_id: parent,
      is_sub_recipe: parent === undefined ? undefined : true,
    },
  );
  return {
    cursor: pushRun(cursor, id),
    drafts: [
      node,
      ...holderEdges(before, occurrence, id, parent),
      ...recipeDrafts(occurrence, id),
      sourcedFrom(occurrence, 'recipeRun', id),
    ],
  };
}

export function runNode(
  id: string,
  times: Readonly<Record<string, string>>,
  values: Readonly<Record<string, JsonValue | undefined>>,
): NodeDraft {
  return { kind: 'draft', id, labels: kinds.recipeRun, times, values };
}

/** A run of a parent hangs on the parent's session, any other on its own; a nested one on the step too. */
function holderEdges(
  { layer3 }: Cursor,
  occurrence: Occurrence,
  id: string,
  parent: string | undefined,
): readonly Draft[] {
  const run = end(occurrence, 'recipeRun', id);
  const { active_recipe_step_id: step } = layer3;
  const holder =
    parent === undefined
      ? edge(sessionEnd(occurrence), 'HAS_RECIPE_RUN', run, 'CONTAINS')
      : edge(
          { id: sessionNodeId(parent), owner: parent, labels: kinds.session },
          'SPAWNED_RECIPE_RUN',
          run,
          'LEADS_TO',
        );
  if (step === null) return [holder];
  return [holder, edge(end(occurrence, 'recipeStep', step), 'SPAWNED', run, 'LEADS_TO')];
}

/** The recipe as a concept, unless it has no name (G8). */
function recipeDrafts(occurrence: Occurrence, run: string): readonly Draft[] {
  const given = nameOf(occurrence);
  if (given === undefined) return [];
  const name = boundedNodeId(given);
  const recipe = { id: `recipe::${name}`, owner: null, labels: kinds.recipe };
  return [
    { kind: 'concept', concept: 'Recipe', name, occurredAt: occurrence.at.canonical },
    edge(end(occurrence, 'recipeRun', run), 'HAS_RECIPE', recipe, 'EXPRESSES'),
  ];
}

function nameOf({ data }: Occurrence): string | undefined {
  return textOf(data['name']) ?? textOf(data['recipe_name']);
}

function parentOf({ data }: Occurrence): string | undefined {
  const named = textOf(data['parent_session_id'])?.trim();
  return named === undefined || checkSessionId(named) !== undefined ? undefined : named;
}
