import type { AppendOutcome } from '#queue';
import type { RecordsAccepted } from '#signals';
import type { Candidate } from './candidate.ts';

/** What a request has made durable, by runs of one session; made only while somebody watches. */
export function acceptedGroups(
  candidates: readonly Candidate[],
  stored: readonly AppendOutcome[],
): RecordsAccepted['groups'] {
  const groups: {
    -readonly [M in keyof RecordsAccepted['groups'][number]]: RecordsAccepted['groups'][number][M];
  }[] = [];
  for (const [at, { key, workspace, session }] of candidates.entries()) {
    const outcome = stored[at];
    if (outcome?.status !== 'queued') continue;
    const { position } = outcome;
    const last = groups.at(-1);
    if (last?.key === key) {
      last.records += 1;
      last.position = position;
    } else groups.push({ key, workspace, session, records: 1, position });
  }
  return groups;
}
