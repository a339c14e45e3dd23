/** Steps that are still to be applied, and the last of them. */
export interface PlannedSteps<S> {
  readonly steps: readonly S[];
  readonly last: S;
}

/** What of a part lies behind the key's applied position; undefined when nothing does (ING-534, ING-539). Positions of a key sort in log order. */
export function planSteps<S extends { readonly after: string }>(
  steps: readonly S[],
  appliedTo: string | undefined,
): PlannedSteps<S> | undefined {
  const left = appliedTo === undefined ? steps : steps.filter(({ after }) => after > appliedTo);
  const last = left.at(-1);
  return last === undefined ? undefined : { steps: left, last };
}
