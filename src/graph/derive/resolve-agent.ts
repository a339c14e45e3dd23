import type { SessionFact } from '../mutation.ts';
import type { ToldFact } from './derive-session.ts';

export type Spawn = Extract<SessionFact, { readonly type: 'spawned' }>;
export type SelfDelegation = Extract<SessionFact, { readonly type: 'delegated' }>;

/** What resolving needs to know of sessions; facts in any order. */
export interface SessionView {
  facts(session: string): readonly ToldFact[];
  /** `RootSession`, `SubSession`, `ForkedSession`, or undefined while none is known. */
  typeOf(session: string): string | undefined;
}

/** The agent that stands for whoever delegates. */
export const selfAgent = 'self';
/** A chain of self-delegations is followed this far (ING-616). */
const hopsMax = 8;
/** The agent of a session that nobody spawned, by its type; for any other nothing is known. */
const agentOfType: Readonly<Record<string, string>> = {
  RootSession: 'root',
  ForkedSession: 'forked',
};

/** Of several spawns that name one child: the smallest (`occurredAt`, delegation id). */
export function chosenSpawn(facts: readonly ToldFact[]): Spawn | undefined {
  let chosen: Spawn | undefined;
  for (const { fact } of facts)
    if (fact.type === 'spawned' && (chosen === undefined || isBefore(fact, chosen))) chosen = fact;
  return chosen;
}

/** The agent behind a spawn: its own name, or that of whoever delegated to itself; undefined when a half is missing or the chain is a circle. */
export function resolveAgent(view: SessionView, spawn: Spawn): string | undefined {
  return spawn.agent === selfAgent ? agentBehind(view, spawn.parent) : spawn.agent;
}

/** Whose agent a self-delegation of this session is. */
export function agentBehind(view: SessionView, session: string): string | undefined {
  const seen = new Set<string>();
  let current = session;
  for (let hop = 0; hop < hopsMax; hop += 1) {
    if (seen.has(current)) return undefined;
    seen.add(current);
    const spawn = chosenSpawn(view.facts(current));
    if (spawn === undefined) return agentOfType[view.typeOf(current) ?? ''];
    if (spawn.agent !== selfAgent) return spawn.agent;
    current = spawn.parent;
  }
  return undefined;
}

/** The self-delegations of a session: whose agent they are hangs on the session's own. */
export function selfDelegations(facts: readonly ToldFact[]): readonly SelfDelegation[] {
  return facts.flatMap(({ fact }) => (fact.type === 'delegated' ? [fact] : []));
}

function isBefore(a: Spawn, b: Spawn): boolean {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt < b.occurredAt;
  return a.delegation < b.delegation;
}
