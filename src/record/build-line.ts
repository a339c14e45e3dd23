import { concatBytes, flattenWhitespace } from '#base';
import type { AcceptedEvent } from './accepted-event.ts';

/** What admission adds to an event. */
export interface Acceptance {
  /** RFC 3339 UTC with milliseconds. */
  readonly acceptedAt: string;
  /** The authenticated principal; null where none is asked for. */
  readonly by: string | null;
}

const closing: Uint8Array = Buffer.from('}');

/**
 * The line of an accepted event, without a line break and without `crc` (§4.5). `data` and the members of `more` are the client's own bytes:
 * only line breaks between tokens become spaces, so no number and no escape changes (ING-919).
 */
export function buildLine(event: AcceptedEvent, acceptance: Acceptance): Uint8Array {
  const head = [
    `{"v":1,"sid":${JSON.stringify(event.session)}`,
    event.eventId === undefined ? '' : `,"id":${JSON.stringify(event.eventId)}`,
    event.isDerivedId ? ',"derived":true' : '',
    `,"at":${JSON.stringify(acceptance.acceptedAt)}`,
    `,"ws":${JSON.stringify(event.workspace)}`,
    `,"by":${JSON.stringify(acceptance.by)}`,
    `,"ev":${JSON.stringify(event.event)}`,
    ',"data":',
  ].join('');
  const parts: Uint8Array[] = [Buffer.from(head), flattenWhitespace(event.dataBytes)];
  if (event.moreBytes !== undefined) {
    parts.push(Buffer.from(',"more":'), flattenWhitespace(event.moreBytes));
  }
  return concatBytes([...parts, closing]);
}
