import type { AppendInput } from '#queue';
import { encodeKey, type Key } from '#record';

export const labWorkspace = 'w';

export function labKey(session = 's', workspace: string = labWorkspace): Key {
  return encodeKey(workspace, session);
}

export interface LabRecord {
  readonly session?: string;
  readonly workspace?: string;
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly eventId?: string;
  readonly isDerivedId?: boolean;
  readonly principal?: string;
  readonly mayWriteForeign?: boolean;
  readonly settles?: string;
}

/** An append with a stored line as admission builds it. */
export function labRecord(record: LabRecord = {}): AppendInput {
  const { session = 's', workspace = labWorkspace, event = 'test:event', data = {} } = record;
  const { eventId, isDerivedId, principal = 'agent', mayWriteForeign, settles } = record;
  const line = {
    v: 1,
    sid: session,
    ...(eventId === undefined ? {} : { id: eventId }),
    ...(isDerivedId === true ? { derived: true } : {}),
    at: '2026-01-01T00:00:00.000Z',
    ws: workspace,
    by: principal,
    ev: event,
    data,
  };
  return {
    key: labKey(session, workspace),
    workspace,
    session,
    raw: Buffer.from(JSON.stringify(line)),
    principal,
    ...(eventId === undefined ? {} : { eventId }),
    ...(isDerivedId === undefined ? {} : { isDerivedId }),
    ...(mayWriteForeign === undefined ? {} : { mayWriteForeign }),
    ...(settles === undefined ? {} : { settles }),
  };
}
