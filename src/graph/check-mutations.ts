import { mutationRefused } from './errors.ts';
import type { Mutation } from './mutation.ts';

/** Mutations that one record may bring (D28). */
export const recordMutationsMax = 10_000;

/** Labels and types stand in the text of statements, so their alphabet is closed (D28). */
const safeName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** One check for both stores, on the mutations of one record of `session`: MUTATION_REFUSED (`poison`). */
export function checkMutations(session: string, mutations: readonly Mutation[]): void {
  if (mutations.length > recordMutationsMax) {
    const reason = `${mutations.length} mutations, at most ${recordMutationsMax} are taken`;
    throw mutationRefused({ session, reason });
  }
  for (const mutation of mutations) {
    const reason = refusal(session, mutation);
    if (reason !== undefined) throw mutationRefused({ session, reason });
  }
}

function refusal(session: string, mutation: Mutation): string | undefined {
  switch (mutation.kind) {
    case 'node':
      if (mutation.owner !== session) return `node ${mutation.id} belongs to ${mutation.owner}`;
      return unsafeName(mutation.labels) ?? unsafeName(mutation.drop?.labels ?? []);
    case 'stub':
      return unsafeName(mutation.labels);
    case 'edge':
      return (
        unsafeName([mutation.type]) ??
        unsafeName(mutation.from.labels) ??
        unsafeName(mutation.to.labels)
      );
    case 'remove-edge':
      return unsafeName([mutation.type]);
    case 'concept':
    case 'fact':
      return undefined;
  }
}

function unsafeName(names: readonly string[]): string | undefined {
  const unsafe = names.find((name) => !safeName.test(name));
  return unsafe === undefined ? undefined : `${JSON.stringify(unsafe)} is no safe label or type`;
}
