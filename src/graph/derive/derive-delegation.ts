import type { NodeState } from '../node-state.ts';
import type { Properties, SessionFact } from '../mutation.ts';
import type { ToldFact } from './derive-session.ts';

type News = Extract<SessionFact, { readonly type: 'delegation' }>;

/** Members of each phase by which one sees that the owner told it. */
const phaseMembers = {
  spawn: ['started_at'],
  lifecycle: ['ended_at', 'resumed_at', 'cancelled_at'],
} as const;

/** Value of `resolved_agent` while a half is missing (ING-616). */
export const unresolvedAgent = 'unresolved';

/** Delegations that facts about their owner speak of. */
export function delegationsIn(facts: readonly ToldFact[]): readonly string[] {
  const ids = facts.flatMap(({ fact }) =>
    fact.type === 'delegated' || fact.type === 'delegation' ? [fact.delegation] : [],
  );
  return [...new Set(ids)];
}

/**
 * Derived properties of one delegation: what other streams tell of it, each phase whole from its latest word and only where the owner told
 * none, and for a self-delegation whose agent it was (ING-616).
 */
export function deriveDelegation(
  id: string,
  facts: readonly ToldFact[],
  node: NodeState | undefined,
  agent: string | undefined,
): Properties {
  const written = node?.properties ?? {};
  const properties: Properties[] = [];
  for (const phase of ['spawn', 'lifecycle'] as const) {
    const isTold = phaseMembers[phase].some((member) => Object.hasOwn(written, member));
    const news = isTold ? undefined : latest(id, phase, facts);
    if (news !== undefined) properties.push(news.properties);
  }
  const isSelf = facts.some(({ fact }) => fact.type === 'delegated' && fact.delegation === id);
  if (isSelf) properties.push({ resolved_agent: agent ?? unresolvedAgent });
  return Object.assign({}, ...properties) as Properties;
}

function latest(id: string, phase: News['phase'], facts: readonly ToldFact[]): News | undefined {
  let found: { readonly source: string; readonly fact: News } | undefined;
  for (const { source, fact } of facts) {
    if (fact.type !== 'delegation' || fact.delegation !== id || fact.phase !== phase) continue;
    const isLater =
      found === undefined ||
      fact.occurredAt > found.fact.occurredAt ||
      (fact.occurredAt === found.fact.occurredAt && source > found.source);
    if (isLater) found = { source, fact };
  }
  return found?.fact;
}
