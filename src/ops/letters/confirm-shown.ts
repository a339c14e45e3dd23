import { sha256Hex } from '#base';
import { selectionChanged } from '#dead-letters';

const digestLength = 16;

/** Stands for what a dry run has shown (ING-923): the name of one thing itself, of several a digest of their names. */
export function confirmOf(names: readonly string[]): string {
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  return sha256Hex(Buffer.from(names.toSorted().join('\n'))).slice(0, digestLength);
}

/** Throws SELECTION_CHANGED where something else would be touched than was shown. Nobody has to confirm; who does is taken at their word. */
export function checkConfirmed(confirm: string | undefined, names: readonly string[]): void {
  if (confirm !== undefined && confirm !== confirmOf(names))
    throw selectionChanged({ count: names.length });
}
