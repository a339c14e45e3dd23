import { isJsonObject, type JsonValue } from '#base';
import type { Cursor } from '#record';
import { boundedNodeId } from './node-id.ts';
import type { Draft, Family, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sourcedFrom, textOf } from './occurrence.ts';
import { begin, openRun, withStep } from './recipe-cursor.ts';
import { beginRun, runNode } from './recipes.ts';

/** `recipe:step`: the step of this index; told again while it is the active one it is the same, later it is a new one (PG-22). */
export const foldRecipeStep: Family = (cursor, occurrence) => {
  const { data } = occurrence;
  const index = data['current_step'] ?? 0;
  const name = stepName(data['steps'], index) ?? plain(index);
  return beginStep(cursor, occurrence, plain(index), { name, current_step: index });
};

/** `recipe:approval`: a step that waits for a person; on an empty stack it begins the run too. */
export const foldRecipeApproval: Family = (before, occurrence) => {
  const { data } = occurrence;
  const begun =
    openRun(before) === undefined
      ? beginRun(withStep(before, null), occurrence)
      : { cursor: before, drafts: [] };
  const stage = textOf(data['stage_name']) ?? 'unnamed';
  const values = { name: stage, stage_name: stage, prompt: data['prompt'] };
  const step = beginStep(begun.cursor, occurrence, stage, values);
  return { cursor: step.cursor, drafts: [...begun.drafts, ...step.drafts] };
};

/** `recipe:loop_iteration`: one turn of a loop, as a step and as news of the run. */
export const foldLoopIteration: Family = (cursor, occurrence) => {
  const { data, at } = occurrence;
  const run = openRun(cursor);
  const { step_id: stepId, iteration, max_iterations: most } = data;
  const ending = `${textOf(stepId) ?? 'unnamed'}::loop::${plain(iteration ?? 0)}`;
  const step = beginStep(cursor, occurrence, ending, {
    name: `loop iteration ${plain(iteration ?? 0)}`,
    step_id: stepId,
    iteration,
    max_iterations: most,
  });
  if (run === undefined) return step;
  const news = runNode(
    run,
    { last_loop_iteration_at: at.canonical },
    {
      last_loop_step_id: stepId,
      last_loop_iteration: iteration,
      last_loop_max_iterations: most,
    },
  );
  return { cursor: step.cursor, drafts: [...step.drafts, news] };
};

/** Without an open run nothing is known that the step could be part of; the event stays, and no step is active. */
function beginStep(
  before: Cursor,
  occurrence: Occurrence,
  ending: string,
  values: Readonly<Record<string, JsonValue | undefined>>,
): { readonly cursor: Cursor; readonly drafts: readonly Draft[] } {
  const run = openRun(before);
  if (run === undefined) return { cursor: withStep(before, null), drafts: [] };
  const bare = boundedNodeId(`${run}::step::${ending}`);
  const isSame = isActive(before, bare);
  const { cursor, id } = isSame
    ? { cursor: before, id: before.layer3.active_recipe_step_id ?? bare }
    : begin(before, occurrence.seq, bare);
  const step = end(occurrence, 'recipeStep', id);
  return {
    cursor: withStep(cursor, id),
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.recipeStep,
        times: { started_at: isSame ? undefined : occurrence.at.canonical },
        values,
      },
      edge(end(occurrence, 'recipeRun', run), 'HAS_STEP', step, 'CONTAINS'),
      sourcedFrom(occurrence, 'recipeStep', id),
    ],
  };
}

/** The active step is this one, or a later turn of it. */
function isActive({ layer3 }: Cursor, bare: string): boolean {
  const active = layer3.active_recipe_step_id;
  if (active === null || !active.startsWith(bare)) return false;
  return active === bare || /^::\d+$/.test(active.slice(bare.length));
}

function stepName(steps: JsonValue | undefined, index: JsonValue): string | undefined {
  if (!Array.isArray(steps) || typeof index !== 'number') return undefined;
  const step = (steps as readonly JsonValue[])[index];
  return isJsonObject(step) ? textOf(step['name']) : textOf(step);
}

function plain(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
