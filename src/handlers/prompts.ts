import { ownedNodeId } from './node-id.ts';
import type { Family } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom } from './occurrence.ts';

/** `prompt:submit`: a prompt of the session; the run before it, if one was completed, enabled it. */
export const foldPromptSubmit: Family = (cursor, occurrence) => {
  const { at, atText, sessionNode, session, data } = occurrence;
  const id = ownedNodeId(sessionNode, 'prompt', atText);
  const prompt = end(occurrence, 'prompt', id);
  const { last_completed_run_id: run } = cursor.layer2;
  return {
    cursor: {
      ...cursor,
      layer2: { ...cursor.layer2, last_prompt_id: id, last_completed_run_id: null },
    },
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.prompt,
        times: { occurred_at: at.canonical },
        values: { session_id: session, prompt: data['prompt'] ?? '' },
      },
      edge(sessionEnd(occurrence), 'HAS_PART', prompt, 'CONTAINS'),
      sourcedFrom(occurrence, 'prompt', id),
      ...(run === null ? [] : [edge(end(occurrence, 'run', run), 'ENABLES', prompt, 'LEADS_TO')]),
    ],
  };
};
