import { sessionNodeId } from '#record';
import { agentEdgeType } from './derive-agents.ts';
import { delegationsIn } from './derive/derive-delegation.ts';
import type { ToldFact } from './derive/derive-session.ts';
import { chosenSpawn } from './derive/resolve-agent.ts';
import type { GroupChanges, GraphReader } from './group-changes.ts';
import { WorkspaceDraft } from './merge-group.ts';

/** Facts that were taken away, by the session that they were about. */
export type LostFacts = ReadonlyMap<string, readonly ToldFact[]>;

/**
 * What follows for the sessions that are left once facts are gone (ING-616), as if they had never been told: `reader` gives the graph without
 * them. Only sessions that are there are derived: `isThere` says of which a node is left. Pure but for the reading.
 */
export function deriveAgain(
  reader: GraphReader,
  workspace: string,
  lost: LostFacts,
  isThere: (session: string) => boolean,
): GroupChanges {
  const draft = new WorkspaceDraft(reader, workspace, lost);
  for (const [session, facts] of lost) {
    if (!isThere(session)) continue;
    draft.touch(session);
    // Also those of which others still tell: what their owner wrote may have gone.
    for (const delegation of delegationsIn([...draft.facts(session), ...facts]))
      draft.touchDelegation(session, delegation);
  }
  draft.derive();
  for (const [session, facts] of lost) {
    if (!isThere(session)) continue;
    if (chosenSpawn(draft.facts(session)) === undefined) dropAgents(draft, session);
    const known = new Set(delegationsIn(draft.facts(session)));
    for (const delegation of delegationsIn(facts))
      if (!known.has(delegation) && draft.node(delegation) !== undefined)
        draft.setDerived(delegation, session, {});
  }
  return draft;
}

/** A session that nobody spawned has no agent; the derivation of a group never meets this, since facts only come. */
function dropAgents(draft: WorkspaceDraft, session: string): void {
  const from = sessionNodeId(session);
  for (const to of draft.agentsBefore(from)) {
    draft.putEdge({ from, type: agentEdgeType, to, isReplaced: true, state: undefined });
    draft.dropConcept(to, session);
  }
}
