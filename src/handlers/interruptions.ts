import { ownedNodeId } from './node-id.ts';
import type { Family } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom } from './occurrence.ts';

/** `cancel:completed`; clients say `was_immediate`, older ones `immediate` (PG-24). */
export const foldCancelCompleted: Family = (cursor, occurrence) => {
  const { at, atText, sessionNode, session, data } = occurrence;
  const id = ownedNodeId(sessionNode, 'cancellation', atText);
  return {
    cursor,
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.cancellation,
        times: { occurred_at: at.canonical },
        values: { session_id: session, was_immediate: data['was_immediate'] ?? data['immediate'] },
      },
      edge(sessionEnd(occurrence), 'HAS_PART', end(occurrence, 'cancellation', id), 'CONTAINS'),
      sourcedFrom(occurrence, 'cancellation', id),
    ],
  };
};

/** `context:pre_compact` and `context:post_compact`: a node each, as in the predecessor. */
export const foldCompaction: Family = (cursor, occurrence) => {
  const { at, atText, sessionNode, session } = occurrence;
  const id = ownedNodeId(sessionNode, 'compaction', atText);
  return {
    cursor,
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.compaction,
        times: { occurred_at: at.canonical },
        values: { session_id: session },
      },
      edge(sessionEnd(occurrence), 'HAS_COMPACTION', end(occurrence, 'compaction', id), 'CONTAINS'),
      sourcedFrom(occurrence, 'compaction', id),
    ],
  };
};
