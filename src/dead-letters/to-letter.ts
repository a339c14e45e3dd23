import type { DeadLetterRecord, KeyStatus } from '#queue';
import { parseLine } from '#record';
import type { Letter } from './dead-letters.ts';

/** A stored letter with the names of its session; `event` is read out of the payload when somebody asks for it. */
export function toLetter(
  record: DeadLetterRecord,
  { workspace, session }: Pick<KeyStatus, 'workspace' | 'session'>,
): Letter {
  let event: string | undefined;
  let isRead = false;
  return {
    ...record,
    workspace,
    session,
    get event() {
      if (!isRead) event = parseLine(record.payload, record.key).record?.event;
      isRead = true;
      return event;
    },
  };
}
