import type { JsonValue } from '#base';
import type { EdgeEnd } from '#graph';
import { checkSessionId, readEntry, sessionNodeId, withEntry, type Cursor } from '#record';
import { EVENT_CONTRADICTS } from './errors.ts';
import { boundedNodeId, mapKey, ownedNodeId } from './node-id.ts';
import type { DelegationNews, Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, textOf } from './occurrence.ts';

/** Parallel groups that are remembered, and delegations of one group that a new one is tied to (PN-22). */
const groupsMax = 64;
const groupDelegationsMax = 64;
/** The agent that stands for whoever delegates; which one that is the store derives (ING-616). */
const selfAgent = 'self';

/** `delegate:agent_spawned`: the delegation, between the call that asked for it and the child that carries it out. */
export const foldAgentSpawned: Family = (before, occurrence) => {
  const delegation = delegationOf(occurrence);
  if (delegation === undefined) return { cursor: before, drafts: [] };
  refuseSelf(occurrence, delegation);
  const { data, at } = occurrence;
  const agent = textOf(data['agent']);
  const group = textOf(data['parallel_group_id']);
  const node: NodeDraft = {
    kind: 'draft',
    id: delegation.id,
    labels: kinds.delegation,
    times: { started_at: at.canonical },
    values: {
      agent,
      parent_session_id: delegation.parent,
      sub_session_id: delegation.child,
      tool_call_id: delegation.toolCall ?? delegation.child,
      is_self_delegation: agent === selfAgent,
      parallel_group_id: group,
      context_depth: data['context_depth'],
      context_scope: data['context_scope'],
      model_role: data['model_role'],
    },
  };
  return {
    cursor: group === undefined ? before : joined(before, occurrence, group, delegation.id),
    drafts: [
      ...told(occurrence, delegation, 'spawn', node),
      ...childDrafts(occurrence, delegation, agent),
      ...causes(before, occurrence, delegation),
      ...(group === undefined ? [] : parallelEdges(before, delegation, group)),
    ],
  };
};

/** `delegate:agent_completed` */
export const foldAgentCompleted: Family = (cursor, occurrence) =>
  lifecycle(cursor, occurrence, { ended_at: occurrence.at.canonical }, { success: true });

/** `delegate:agent_resumed`: told by the child's own stream, so it names its parent and a call of its own (G13). */
export const foldAgentResumed: Family = (cursor, occurrence) =>
  lifecycle(cursor, occurrence, { resumed_at: occurrence.at.canonical }, {});

/** `delegate:agent_cancelled` */
export const foldAgentCancelled: Family = (cursor, occurrence) =>
  lifecycle(cursor, occurrence, { cancelled_at: occurrence.at.canonical }, {});

/** `delegate:error` */
export const foldDelegateError: Family = (cursor, occurrence) => {
  const { error, error_message, message } = occurrence.data;
  const said = [error, error_message, message].find((one) => one !== undefined && one !== null);
  const values = { success: false, error: said };
  return lifecycle(cursor, occurrence, { ended_at: occurrence.at.canonical }, values);
};

interface Delegation {
  readonly id: string;
  /** Session id of who delegates: the owner of the node. */
  readonly parent: string;
  readonly child: string | undefined;
  readonly toolCall: string | undefined;
}

/** By the call's id, else by the child's (PG-12); with neither there is nothing to tell of. */
function delegationOf(occurrence: Occurrence): Delegation | undefined {
  const { data, session } = occurrence;
  const parent = sessionIn(data['parent_session_id']) ?? session;
  const child = sessionIn(data['sub_session_id']);
  const toolCall = textOf(data['tool_call_id']);
  const name = toolCall ?? child;
  if (name === undefined) return undefined;
  return { id: ownedNodeId(sessionNodeId(parent), 'delegation', name), parent, child, toolCall };
}

/** A spawn whose child is the session itself contradicts itself (D28). */
function refuseSelf({ event, session }: Occurrence, { parent, child }: Delegation): void {
  if (child !== undefined && (child === session || child === parent))
    throw EVENT_CONTRADICTS({ event, session, member: 'sub_session_id' });
}

function lifecycle(
  cursor: Cursor,
  occurrence: Occurrence,
  times: Readonly<Record<string, string>>,
  values: Readonly<Record<string, JsonValue | undefined>>,
): { readonly cursor: Cursor; readonly drafts: readonly Draft[] } {
  const delegation = delegationOf(occurrence);
  if (delegation === undefined) return { cursor, drafts: [] };
  const { id, parent } = delegation;
  const node: NodeDraft = { kind: 'draft', id, labels: kinds.delegation, times, values };
  const isToldByChild = parent !== occurrence.session;
  const child = isToldByChild ? (delegation.child ?? occurrence.session) : undefined;
  return {
    cursor,
    drafts: [
      ...told(occurrence, delegation, 'lifecycle', node),
      ...(child === undefined ? [] : [encompasses(delegation, child)]),
    ],
  };
}

/** The owner writes its node; anybody else leaves a fact, from which the store derives the same values (ING-616). */
function told(
  occurrence: Occurrence,
  { id, parent }: Delegation,
  phase: DelegationNews['phase'],
  node: NodeDraft,
): readonly Draft[] {
  const source = edge(
    delegationEnd(id, parent),
    'SOURCED_FROM',
    end(occurrence, 'event', occurrence.eventNode),
  );
  if (parent === occurrence.session) return [node, source];
  const news: DelegationNews = {
    kind: 'delegation-news',
    about: parent,
    source: occurrence.eventNode,
    phase,
    node,
    occurredAt: occurrence.at.canonical,
  };
  return [news, source];
}

function childDrafts(
  occurrence: Occurrence,
  delegation: Delegation,
  agent: string | undefined,
): readonly Draft[] {
  const { id, parent, child } = delegation;
  if (child === undefined) return [];
  const stub: Draft = {
    kind: 'stub',
    owner: child,
    id: sessionNodeId(child),
    labels: kinds.session,
  };
  const drawn = [stub, encompasses(delegation, child)];
  if (agent === undefined) return drawn;
  const name = boundedNodeId(agent);
  const occurredAt = occurrence.at.canonical;
  const fact = { type: 'spawned', parent, delegation: id, agent: name, occurredAt } as const;
  return [...drawn, { kind: 'fact', about: child, source: occurrence.eventNode, fact }];
}

/** What made the delegation: the call with this id, and the recipe's step that is active. */
function causes(
  { layer3 }: Cursor,
  occurrence: Occurrence,
  { id, parent, toolCall }: Delegation,
): readonly Draft[] {
  const target = delegationEnd(id, parent);
  const drafts: Draft[] = [];
  if (toolCall !== undefined) {
    const call = ownedNodeId(sessionNodeId(parent), 'tool', toolCall);
    const from = { id: call, owner: parent, labels: kinds.toolCall };
    drafts.push(edge(from, 'TRIGGERED', target, 'LEADS_TO'));
  }
  const { active_recipe_step_id: step } = layer3;
  if (step !== null)
    drafts.push(edge(end(occurrence, 'recipeStep', step), 'TRIGGERED', target, 'LEADS_TO'));
  return drafts;
}

function encompasses({ id, parent }: Delegation, child: string): Draft {
  const to = { id: sessionNodeId(child), owner: child, labels: kinds.session };
  return edge(delegationEnd(id, parent), 'ENCOMPASSES', to, 'CONTAINS');
}

function delegationEnd(id: string, parent: string): EdgeEnd {
  return { id, owner: parent, labels: kinds.delegation };
}

/** From the new delegation to each earlier one of its group. */
function parallelEdges(
  { layer3 }: Cursor,
  { id, parent }: Delegation,
  group: string,
): readonly Draft[] {
  const earlier = readEntry(layer3.parallel_groups, mapKey(group)) ?? [];
  return earlier
    .filter((other) => other !== id)
    .map((other) =>
      edge(delegationEnd(id, parent), 'PARALLEL_AGENT', delegationEnd(other, parent), 'NEAR'),
    );
}

function joined(cursor: Cursor, occurrence: Occurrence, group: string, id: string): Cursor {
  const { layer3 } = cursor;
  const earlier = readEntry(layer3.parallel_groups, mapKey(group)) ?? [];
  const all = [...earlier.filter((other) => other !== id), id].slice(-groupDelegationsMax);
  const groups = withEntry(layer3.parallel_groups, mapKey(group), [occurrence.seq, all], groupsMax);
  return { ...cursor, layer3: { ...layer3, parallel_groups: groups } };
}

/** A session id that a client may have given; undefined for one that can name no session. */
function sessionIn(value: JsonValue | undefined): string | undefined {
  const text = textOf(value)?.trim();
  return text === undefined || checkSessionId(text) !== undefined ? undefined : text;
}
