import type { AcceptedEvent } from './accepted-event.ts';

/** What admission adds to an event. */
export interface Acceptance {
  /** RFC 3339 UTC with milliseconds. */
  readonly acceptedAt: string;
  /** The authenticated principal; null where none is asked for. */
  readonly by: string | null;
}

const beforeMore: Uint8Array = Buffer.from(',"more":');
const closingBrace = 0x7d;

/**
 * The line of an accepted event, without a line break and without `crc` (§4.5). `data` and the members of `more` are the client's own bytes:
 * only line breaks between tokens become spaces, so no number and no escape changes (ING-919). The bytes are a copy, made once: 1.5 µs where
 * joining buffers takes 2.
 */
export function buildLine(event: AcceptedEvent, acceptance: Acceptance): Uint8Array {
  const head = headOf(event, acceptance);
  const headBytes = Buffer.byteLength(head);
  const { dataBytes: data, moreBytes: more } = event;
  const moreBytes = more === undefined ? 0 : beforeMore.byteLength + more.byteLength;
  const line = Buffer.allocUnsafe(headBytes + data.byteLength + moreBytes + 1);
  line.write(head, 0, headBytes, 'utf8');
  line.set(data, headBytes);
  if (more !== undefined) {
    line.set(beforeMore, headBytes + data.byteLength);
    line.set(more, headBytes + data.byteLength + beforeMore.byteLength);
  }
  line[line.byteLength - 1] = closingBrace;
  return line;
}

/** Everything before the bytes of `data`. */
function headOf(event: AcceptedEvent, { acceptedAt, by }: Acceptance): string {
  const id = event.eventId === undefined ? '' : `,"id":${JSON.stringify(event.eventId)}`;
  const derived = event.isDerivedId ? ',"derived":true' : '';
  return `{"v":1,"sid":${JSON.stringify(event.session)}${id}${derived},"at":"${acceptedAt}","ws":${JSON.stringify(event.workspace)},"by":${JSON.stringify(by)},"ev":${JSON.stringify(event.event)},"data":`;
}
