import type { AcceptedEvent } from './accepted-event.ts';
import { KnownBytes } from './known-bytes.ts';

/** What admission adds to an event. */
export interface Acceptance {
  /** RFC 3339 UTC with milliseconds. */
  readonly acceptedAt: string;
  /** The authenticated principal; null where none is asked for. */
  readonly by: string | null;
}

/** Of the sessions and the names of events that come now. */
const beginnings: KnownBytes = new KnownBytes((session) => `{"v":1,"sid":${quoted(session)}`);
const names: KnownBytes = new KnownBytes((event) => `${quoted(event)},"data":`);

const beforeId: Buffer = Buffer.from(',"id":');
const derived: Buffer = Buffer.from(',"derived":true');
const beforeMore: Buffer = Buffer.from(',"more":');
const quote = 0x22;
const backslash = 0x5c;
const closingBrace = 0x7d;

/**
 * The line of an accepted event, without a line break and without `crc` (§4.5). `data` and the members of `more` are the client's own bytes, so no number and no
 * escape changes (ING-919). The bytes are a copy, put together from parts that were written before; to make a text of them first takes three times as long.
 */
export function buildLine(event: AcceptedEvent, acceptance: Acceptance): Uint8Array {
  const { dataBytes, moreBytes } = event;
  const begin = beginnings.of(event.session);
  const middle = middleOf(acceptance, event.workspace);
  const name = names.of(event.event);
  const ends = begin.byteLength + middle.byteLength + name.byteLength + dataBytes.byteLength + 1;
  const more = moreBytes === undefined ? 0 : beforeMore.byteLength + moreBytes.byteLength;
  const line = Buffer.allocUnsafe(ends + idLength(event) + more);
  line.set(begin);
  let at = writeId(line, begin.byteLength, event);
  line.set(middle, at);
  at += middle.byteLength;
  line.set(name, at);
  at += name.byteLength;
  line.set(dataBytes, at);
  at += dataBytes.byteLength;
  if (moreBytes !== undefined) {
    line.set(beforeMore, at);
    line.set(moreBytes, at + beforeMore.byteLength);
  }
  line[line.byteLength - 1] = closingBrace;
  return line;
}

type Identified = Pick<AcceptedEvent, 'eventId' | 'isDerivedId'>;

/** Bytes of what `writeId` writes. */
function idLength({ eventId, isDerivedId }: Identified): number {
  const length = isDerivedId ? derived.byteLength : 0;
  if (eventId === undefined) return length;
  const bytes = isQuotable(eventId) ? eventId.length + 2 : Buffer.byteLength(quoted(eventId));
  return length + beforeId.byteLength + bytes;
}

/** Each id comes once, so nothing of it is kept. Returns where it ends. */
function writeId(line: Buffer, from: number, { eventId, isDerivedId }: Identified): number {
  let at = from;
  if (eventId !== undefined) {
    line.set(beforeId, at);
    at += beforeId.byteLength;
    if (isQuotable(eventId)) {
      line[at] = quote;
      at += 1 + line.write(eventId, at + 1, 'latin1');
      line[at++] = quote;
    } else at += line.write(quoted(eventId), at);
  }
  if (!isDerivedId) return at;
  line.set(derived, at);
  return at + derived.byteLength;
}

/** ASCII of which nothing has to be escaped in a JSON text. */
function isQuotable(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) return false;
  }
  return true;
}

/** Records of one millisecond and one workspace, as they come by the hundred, share it. */
let lastMiddle = {
  acceptedAt: '',
  by: null as string | null,
  workspace: '',
  bytes: Buffer.alloc(0),
};

/** What stands between the id and the name of the event. */
function middleOf({ acceptedAt, by }: Acceptance, workspace: string): Buffer {
  const last = lastMiddle;
  if (last.acceptedAt === acceptedAt && last.by === by && last.workspace === workspace)
    return last.bytes;
  const text = `,"at":"${acceptedAt}","ws":${quoted(workspace)},"by":${quoted(by)},"ev":`;
  lastMiddle = { acceptedAt, by, workspace, bytes: Buffer.from(text) };
  return lastMiddle.bytes;
}

function quoted(text: string | null): string {
  return JSON.stringify(text);
}
