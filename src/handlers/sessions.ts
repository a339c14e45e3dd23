import type { SessionFact } from '#graph';
import { checkSessionId, sessionNodeId, type Cursor } from '#record';
import { EVENT_CONTRADICTS } from './errors.ts';
import { ownedNodeId } from './node-id.ts';
import { leaveStrayBlocks } from './placeholder.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom, textOf } from './occurrence.ts';

/** `session:start`: typed by what is known of the parent; labels, parent edge and `parent_id` follow from the fact (D25). */
export const foldSessionStart: Family = (cursor, occurrence) => {
  const parent = parentOf(occurrence);
  const { at } = occurrence;
  return {
    cursor,
    drafts: [
      ownNode(occurrence, { started_at: at.canonical }),
      ...parentDrafts(parent),
      fact(occurrence, occurrence.session, { type: 'started', parent, occurredAt: at.canonical }),
      sessionSource(occurrence),
    ],
  };
};

/** `session:fork`, in both of its shapes (formats 1.6). */
export const foldSessionFork: Family = (cursor, occurrence) => {
  const child = usableId(occurrence.data['child_session_id']);
  const isToldByParent = child !== undefined && child !== occurrence.session;
  return { cursor, drafts: isToldByParent ? forkOf(child, occurrence) : ownFork(occurrence) };
};

/** `session:end`: completed, and nothing stays open (ING-610); counters go on where they are. */
export const foldSessionEnd: Family = (cursor, occurrence) => {
  const { at, session } = occurrence;
  const named = parentOf(occurrence, { mayContradict: true });
  const parent = named === session ? null : named;
  const node: NodeDraft = {
    ...ownNode(occurrence, { ended_at: at.canonical }),
    values: { session_id: session, status: 'completed' },
  };
  return {
    cursor: closed(cursor),
    drafts: [
      node,
      fact(occurrence, session, { type: 'ended', parent, occurredAt: at.canonical }),
      sessionSource(occurrence),
    ],
  };
};

function ownFork(occurrence: Occurrence): readonly Draft[] {
  const { at, sessionNode } = occurrence;
  const parent = parentOf(occurrence);
  const plan = ownedNodeId(sessionNode, 'mount_plan');
  return [
    ownNode(occurrence, { started_at: at.canonical }),
    ...parentDrafts(parent),
    fact(occurrence, occurrence.session, {
      type: 'forked',
      parent,
      occurredAt: at.canonical,
      toldBy: 'child',
    }),
    sessionSource(occurrence),
    { kind: 'draft', id: plan, labels: kinds.mountPlan },
    edge(sessionEnd(occurrence), 'HAS_PART', end(occurrence, 'mountPlan', plan), 'CONTAINS'),
    sourcedFrom(occurrence, 'mountPlan', plan),
  ];
}

/** The second shape stands in the parent's stream: it makes the child a fork and never the parent, and brings no MountPlan (ING-616). */
function forkOf(child: string, occurrence: Occurrence): readonly Draft[] {
  const agent = textOf(occurrence.data['agent_name']);
  return [
    { kind: 'stub', owner: child, id: sessionNodeId(child), labels: kinds.session },
    fact(occurrence, child, {
      type: 'forked',
      parent: occurrence.session,
      occurredAt: occurrence.at.canonical,
      toldBy: 'parent',
      ...(agent === undefined ? {} : { agent }),
    }),
  ];
}

function ownNode(occurrence: Occurrence, times: Readonly<Record<string, string>>): NodeDraft {
  return {
    kind: 'draft',
    id: occurrence.sessionNode,
    labels: [...kinds.session, 'SST_EVENT'],
    times,
    values: { session_id: occurrence.session },
  };
}

function parentDrafts(parent: string | null): readonly Draft[] {
  if (parent === null) return [];
  return [{ kind: 'stub', owner: parent, id: sessionNodeId(parent), labels: kinds.session }];
}

function fact(occurrence: Occurrence, about: string, told: SessionFact): Draft {
  return { kind: 'fact', about, source: occurrence.eventNode, fact: told };
}

/** Unlike other SOURCED_FROM edges this one has a time, as in the predecessor's graphs. */
function sessionSource(occurrence: Occurrence): Draft {
  const source = sourcedFrom(occurrence, 'session', occurrence.sessionNode);
  return { ...source, occurredAt: occurrence.at.canonical };
}

/** The parent that the event names, or null. An event that names its own session contradicts itself (D28). */
function parentOf(
  occurrence: Occurrence,
  options: { mayContradict?: boolean } = {},
): string | null {
  const { data, event, session } = occurrence;
  const isChildNamed = usableId(data['child_session_id']) !== undefined;
  const members = ['parent_id', 'parent', ...(isChildNamed ? ['parent_session_id'] : [])];
  let parent: string | null = null;
  for (const member of members) {
    const named = usableId(data[member]);
    if (named === undefined) continue;
    if (named === session && options.mayContradict !== true) {
      throw EVENT_CONTRADICTS({ event, session, member });
    }
    parent ??= named;
  }
  return parent;
}

/** A session id that a client may have given, without spaces around it; undefined for one that can name no session. */
function usableId(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || checkSessionId(text) !== undefined ? undefined : text;
}

function closed(cursor: Cursor): Cursor {
  return {
    ...cursor,
    terminal_seen: true,
    layer2: {
      ...cursor.layer2,
      run_start_ts: null,
      run_seq: 0,
      active_run_id: null,
      open_runs: [],
      ended_runs: [],
      active_iteration_id: null,
      iteration_run_id: null,
      placeholder_iterations: {},
      block_seq: {},
      open_blocks: [],
      stray_blocks: leaveStrayBlocks(cursor.layer2.stray_blocks),
      last_prompt_id: null,
      pending_tool_blocks: {},
      tool_groups: {},
    },
    layer3: {
      ...cursor.layer3,
      recipe_stack: [],
      active_recipe_step_id: null,
      parallel_groups: {},
    },
  };
}
