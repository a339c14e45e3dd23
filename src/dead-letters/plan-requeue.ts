import { parseLine } from '#record';
import type { AppendInput } from '#queue';
import type { Letter } from './dead-letters.ts';

/**
 * The append that requeues a letter (ING-714): its payload as it is, under the id of the original or one that tells where it stood, in the
 * name of its sender. Undefined when the payload is no record.
 */
export function planRequeue(letter: Letter): AppendInput | undefined {
  const { key, workspace, session, payload, id, epoch } = letter;
  const { record } = parseLine(payload, key);
  if (record === undefined) return undefined;
  const start = id.slice(id.lastIndexOf('.') + 1);
  return {
    key,
    workspace,
    session,
    raw: payload,
    eventId: letter.eventId ?? `requeue:${epoch}.${start}`,
    ...(record.isDerivedId && letter.eventId !== undefined ? { isDerivedId: true } : {}),
    principal: record.by ?? '',
    mayWriteForeign: true,
    settles: id,
  };
}
