import type { AppliedRow, GroupPart, Step } from './store.ts';

/** What of a part is still to be applied; undefined when all of it is behind the key's row (ING-534, ING-539). */
export type PlannedSteps<S extends Pick<Step, 'after'>> =
  | { readonly steps: readonly S[]; readonly last: S }
  | undefined;

/** Positions of one key sort as texts in log order (ING-107). */
export function planSteps<S extends Pick<Step, 'after'>>(
  part: Pick<GroupPart, 'key'> & { readonly steps: readonly S[] },
  row: Pick<AppliedRow, 'position'> | undefined,
): PlannedSteps<S> {
  const steps =
    row === undefined ? part.steps : part.steps.filter(({ after }) => after > row.position);
  const last = steps.at(-1);
  return last === undefined ? undefined : { steps, last };
}
