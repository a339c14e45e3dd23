import { readEntry, withEntry, withoutEntry, type Cursor } from '#record';
import { mapKey, ownedNodeId } from './node-id.ts';
import type { Family } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom, textOf } from './occurrence.ts';

/** Skills that are loaded at one time and whose end is waited for. */
const skillsMax = 256;

/** `skill:loaded`: under its iteration, or under the session when none has begun (PG-10). */
export const foldSkillLoaded: Family = (cursor, occurrence) => {
  const { data, at, atText, sessionNode, seq } = occurrence;
  const name = textOf(data['skill_name']);
  if (name === undefined) return { cursor, drafts: [] };
  const id = ownedNodeId(sessionNode, 'skill', name, atText);
  const { active_iteration_id: iteration } = cursor.layer2;
  const holder =
    iteration === null ? sessionEnd(occurrence) : end(occurrence, 'iteration', iteration);
  const skills = withEntry(cursor.layer3.skills, mapKey(name), [seq, id], skillsMax);
  return {
    cursor: withSkills(cursor, skills),
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.skillLoad,
        times: { started_at: at.canonical },
        values: {
          skill_name: name,
          content_length: data['content_length'],
          source: data['source'],
          version: data['version'],
          context: data['context'],
          disable_model_invocation: data['disable_model_invocation'],
          user_invocable: data['user_invocable'],
          auto_loaded: data['auto_loaded'] ?? false,
        },
      },
      edge(holder, 'HAS_SKILL_LOAD', end(occurrence, 'skillLoad', id), 'CONTAINS'),
      sourcedFrom(occurrence, 'skillLoad', id),
    ],
  };
};

/** `skill:unloaded`: ends the load that the cursor remembers; one that was never seen ends nothing. */
export const foldSkillUnloaded: Family = (cursor, occurrence) => {
  const name = textOf(occurrence.data['skill_name']);
  const id = name === undefined ? undefined : readEntry(cursor.layer3.skills, mapKey(name));
  if (name === undefined || id === undefined) return { cursor, drafts: [] };
  return {
    cursor: withSkills(cursor, withoutEntry(cursor.layer3.skills, mapKey(name))),
    drafts: [
      {
        kind: 'draft',
        id,
        labels: kinds.skillLoad,
        times: { ended_at: occurrence.at.canonical },
      },
      sourcedFrom(occurrence, 'skillLoad', id),
    ],
  };
};

function withSkills(cursor: Cursor, skills: Cursor['layer3']['skills']): Cursor {
  return { ...cursor, layer3: { ...cursor.layer3, skills } };
}
