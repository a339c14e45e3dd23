import { readEntry, withEntry, type Cursor, type RecipeFrame } from '#record';
import { boundedNodeId, mapKey } from './node-id.ts';

/** Recipes that may run one inside the other; the outermost goes first. */
const openRecipesMax = 64;
/** Runs and steps whose ids are remembered; an id that comes again after that many others merges into its first node. */
const begunMax = 512;

/** An id of its own for what begins now: the bare one the first time, then `::2`, `::3` (PG-22). */
export function begin(
  cursor: Cursor,
  seq: number,
  bareId: string,
): { readonly cursor: Cursor; readonly id: string } {
  const { begun } = cursor.layer3;
  const count = (readEntry(begun, mapKey(bareId)) ?? 0) + 1;
  const id = count === 1 ? bareId : boundedNodeId(`${bareId}::${count}`);
  return {
    cursor: withLayer3(cursor, { begun: withEntry(begun, mapKey(bareId), [seq, count], begunMax) }),
    id,
  };
}

/** A run on top of the stack; the step that it stands in for comes back when it completes. */
export function pushRun(cursor: Cursor, run: string): Cursor {
  const { recipe_stack, active_recipe_step_id: outer } = cursor.layer3;
  const stack: RecipeFrame[] = [...recipe_stack, [run, outer]];
  return withLayer3(cursor, {
    recipe_stack: stack.slice(-openRecipesMax),
    active_recipe_step_id: null,
  });
}

/** The stack without its top, at the step at which the run began. */
export function popRun(cursor: Cursor): Cursor {
  const { recipe_stack } = cursor.layer3;
  return withLayer3(cursor, {
    recipe_stack: recipe_stack.slice(0, -1),
    active_recipe_step_id: recipe_stack.at(-1)?.[1] ?? null,
  });
}

/** The innermost recipe run that is open. */
export function openRun(cursor: Cursor): string | undefined {
  return cursor.layer3.recipe_stack.at(-1)?.[0];
}

export function withStep(cursor: Cursor, step: string | null): Cursor {
  return withLayer3(cursor, { active_recipe_step_id: step });
}

function withLayer3(cursor: Cursor, changed: Partial<Cursor['layer3']>): Cursor {
  return { ...cursor, layer3: { ...cursor.layer3, ...changed } };
}
