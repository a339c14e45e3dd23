import { parseLine } from '#record';
import { sessionQuarantined, deadLetterState, type AppendInput, type KeyStatus } from '#queue';
import type { MillraceError } from '#base';
import type { Letter, RequeueOptions } from './dead-letters.ts';
import { deadLetterRange, deadLetterRetired } from './errors.ts';

/**
 * The append that requeues a letter (ING-714): its payload as it is, under the id of the original or one that tells where it stood, in the
 * name of its sender. Undefined when the payload is no record.
 */
export function planRequeue(letter: Letter): AppendInput | undefined {
  const { key, workspace, session, payload, id, epoch } = letter;
  const { record } = parseLine(payload, key);
  if (record === undefined) return undefined;
  return {
    key,
    workspace,
    session,
    raw: payload,
    eventId: letter.eventId ?? `requeue:${epoch}.${startOf(id)}`,
    ...(record.isDerivedId && letter.eventId !== undefined ? { isDerivedId: true } : {}),
    principal: record.by ?? '',
    mayWriteForeign: true,
    settles: id,
  };
}

/** `<key>:<epoch>.<start>` → its start. */
export function startOf(id: string): string {
  return id.slice(id.lastIndexOf('.') + 1);
}

/** Why a letter cannot be requeued now; undefined when it can. Pure. */
export function refusalOf(
  letter: Letter,
  status: KeyStatus | undefined,
  options: RequeueOptions,
): MillraceError | undefined {
  const { id, key, outcome } = letter;
  if (outcome.kind !== 'live') return deadLetterState({ id, outcome: outcome.kind });
  if (status !== undefined && status.quarantine !== null)
    return sessionQuarantined({ keys: [key], reason: status.quarantine.code });
  const isReopened =
    letter.isRetired && status?.isFinalised === false && status.epoch !== letter.epoch;
  if (isReopened && options.intoCurrent !== true) return deadLetterRetired({ id });
  return letter.records === undefined
    ? undefined
    : deadLetterRange({ id, records: letter.records });
}
