import { sessionNodeId } from '#record';
import { conceptNodeId, type Concept } from './concept.ts';
import { delegationsIn, deriveDelegation } from './derive/derive-delegation.ts';
import type { ToldFact } from './derive/derive-session.ts';
import {
  agentBehind,
  chosenSpawn,
  resolveAgent,
  selfDelegations,
  type SessionView,
} from './derive/resolve-agent.ts';
import type { EdgeChange } from './group-changes.ts';
import { propertiesText } from './merge-node.ts';
import type { Properties } from './mutation.ts';
import type { NodeState } from './node-state.ts';

/** From a child to its agent; drawn by the derivation alone. */
export const agentEdgeType = 'HAS_AGENT';
const agentEdgeProperties: Properties = { sst_semantic: 'EXPRESSES' };
/** Self-delegations below a session whose agent changed are resolved again this deep (ING-616). */
const levelsMax = 8;

/** The part of a group in one workspace as the derivation of agents sees it: values of now, and those from before the group. */
export interface AgentDraft extends SessionView {
  node(id: string): NodeState | undefined;
  /** Facts that the group told about a session. */
  news(session: string): readonly ToldFact[];
  factsBefore(session: string): readonly ToldFact[];
  typeBefore(session: string): string | undefined;
  /** Ids of the concepts that a session's node leads to, before the group. */
  agentsBefore(sessionNode: string): readonly string[];
  putEdge(change: EdgeChange): void;
  /** Makes the concept's node, and notes that this session names it. */
  nameConcept(concept: Concept, session: string, occurredAt: string): void;
  /** The session names it no more; a concept that nobody names is gone. */
  dropConcept(id: string, session: string): void;
  setDerived(delegation: string, owner: string, derived: Properties): void;
}

/**
 * Agents of sessions and what follows from them (ING-616): HAS_AGENT from a child to the agent that it was spawned as, the agent behind each
 * self-delegation, descendants included, and delegations of which other streams tell. `touched`: sessions of which the group told facts or changed
 * the type; `written`: delegations that their owner wrote.
 */
export function deriveAgents(
  draft: AgentDraft,
  touched: ReadonlySet<string>,
  written: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  const changed = [...touched].filter((session) => isAgentChanged(draft, session));
  const below = descendants(draft, changed);
  for (const session of new Set([...touched, ...below])) drawAgent(draft, session);
  const whole = new Set([...changed, ...below]);
  for (const session of new Set([...touched, ...below, ...written.keys()])) {
    const isWhole = whole.has(session);
    deriveDelegations(draft, session, isWhole ? undefined : (written.get(session) ?? new Set()));
  }
}

/** What a self-delegation of the session hangs on: how it was spawned, else its type. */
function isAgentChanged(draft: AgentDraft, session: string): boolean {
  const facts = draft.facts(session);
  if (selfDelegations(facts).length === 0) return false;
  const [before, after] = [chosenSpawn(draft.factsBefore(session)), chosenSpawn(facts)];
  return (
    before?.agent !== after?.agent ||
    before?.parent !== after?.parent ||
    draft.typeBefore(session) !== draft.typeOf(session)
  );
}

function descendants(draft: AgentDraft, changed: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  let level: readonly string[] = changed;
  for (let depth = 0; depth < levelsMax && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const session of level) {
      for (const { child } of selfDelegations(draft.facts(session))) {
        if (found.has(child)) continue;
        found.add(child);
        next.push(child);
      }
    }
    level = next;
  }
  return found;
}

function drawAgent(draft: AgentDraft, session: string): void {
  const spawn = chosenSpawn(draft.facts(session));
  if (spawn === undefined) return;
  const from = sessionNodeId(session);
  const name = resolveAgent(draft, spawn);
  const concept: Concept | undefined = name === undefined ? undefined : { kind: 'Agent', name };
  const to = concept === undefined ? undefined : conceptNodeId(concept);
  let isThere = false;
  for (const stored of draft.agentsBefore(from)) {
    if (stored === to) {
      isThere = true;
      continue;
    }
    draft.putEdge({ from, type: agentEdgeType, to: stored, isReplaced: true, state: undefined });
    draft.dropConcept(stored, session);
  }
  if (concept === undefined || to === undefined) return;
  if (isThere && draft.news(session).length === 0) return;
  draft.nameConcept(concept, session, spawn.occurredAt);
  if (isThere) return;
  const state = { properties: agentEdgeProperties, occurredAt: undefined };
  draft.putEdge({ from, type: agentEdgeType, to, isReplaced: true, state });
}

/** Of the delegations that facts about the session speak of: those with news, those just written, or with `written` undefined all of them. */
function deriveDelegations(
  draft: AgentDraft,
  session: string,
  written: ReadonlySet<string> | undefined,
): void {
  const facts = draft.facts(session);
  const known = delegationsIn(facts);
  if (known.length === 0) return;
  const news = new Set(delegationsIn(draft.news(session)));
  const some =
    written === undefined ? known : known.filter((id) => news.has(id) || written.has(id));
  if (some.length === 0) return;
  const agent = agentBehind(draft, session);
  for (const id of some) {
    const node = draft.node(id);
    const derived = deriveDelegation(id, facts, node, agent);
    const isSame = propertiesText(node?.derived ?? {}) === propertiesText(derived);
    if (!isSame || node === undefined) draft.setDerived(id, session, derived);
  }
}
