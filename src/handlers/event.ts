import type { Cursor } from '#record';
import { eventLabels } from './event-labels.ts';
import { liftedFields, withRawSummary } from './lifted-fields.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, textOf } from './occurrence.ts';
import { spillData, type Spill } from './settle.ts';

/** Events that open an ended session again; no other does (G5, ING-807). */
const reopening: ReadonlySet<string> = new Set([
  'session:start',
  'session:resume',
  'session:fork',
  'prompt:submit',
  'execution:start',
]);

/** The generic node of every event, known or not: name, time, lifted members, and `data` as text. */
export function eventDrafts(occurrence: Occurrence, spill: Spill): readonly Draft[] {
  const { event, data, eventNode, at } = occurrence;
  const node: NodeDraft = {
    kind: 'draft',
    id: eventNode,
    labels: eventLabels(event),
    times: { occurred_at: at.canonical },
    values: {
      ...liftedFields(event, data),
      session_id: occurrence.session,
      event_name: event,
      data: spillData(withRawSummary(data), spill),
    },
  };
  const told = edge(sessionEnd(occurrence), 'HAS_EVENT', end(occurrence, 'event', eventNode));
  return [node, { ...told, occurredAt: at.canonical }];
}

/**
 * What every event does to its session: the first one makes it, each moves `last_updated` forward, and some open an ended session again.
 * `session:end` itself is told by the family of sessions.
 */
export const touchSession: Family = (cursor, occurrence) => {
  const { session, sessionNode, at, event, record } = occurrence;
  const isFirst = cursor.layer1.event_seq === 0;
  const isReopened = cursor.terminal_seen && reopens(occurrence);
  const isLater = (cursor.layer1.last_updated ?? '') < at.canonical;
  const node: NodeDraft = {
    kind: 'draft',
    id: sessionNode,
    labels: kinds.session,
    times: {
      last_updated: isLater ? at.canonical : undefined,
      started_at: isFirst ? at.canonical : undefined,
    },
    values: {
      session_id: isFirst ? session : undefined,
      status: isFirst || isReopened ? 'running' : undefined,
      agent: isFirst && event.startsWith('session:') ? textOf(occurrence.data['agent']) : undefined,
      working_dir: textOf(record.more?.['working_dir']),
    },
  };
  const hasNews = isFirst || isReopened || isLater || node.values?.['working_dir'] !== undefined;
  return {
    cursor: afterTouch(cursor, occurrence, isLater, isReopened),
    drafts: hasNews ? [node] : [],
  };
};

function afterTouch(
  cursor: Cursor,
  { seq, at }: Occurrence,
  isLater: boolean,
  isReopened: boolean,
): Cursor {
  const last = isLater ? at.canonical : cursor.layer1.last_updated;
  return {
    ...cursor,
    terminal_seen: cursor.terminal_seen && !isReopened,
    layer1: { ...cursor.layer1, event_seq: seq, last_updated: last },
  };
}

/** A fork told by the parent's stream (second shape) is about the child alone. */
function reopens({ event, data, session }: Occurrence): boolean {
  if (!reopening.has(event)) return false;
  const child = textOf(data['child_session_id']);
  return event !== 'session:fork' || child === undefined || child === session;
}
