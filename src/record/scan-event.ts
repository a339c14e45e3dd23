import { isUtf8 } from 'node:buffer';
import { ObjectScan, type JsonValue, type ScanSource } from '#base';
import type { AcceptedEvent } from './accepted-event.ts';
import { checkedDataMembers, eventNames, joinMembers, ownMembers } from './event-members.ts';
import { KnownTexts } from './known-texts.ts';
import { acceptMembers, type EventFrame } from './parse-event.ts';

const scan: ObjectScan = new ObjectScan(eventNames);
const knownTexts: KnownTexts = new KnownTexts();

/** Places among the wanted names. */
const slots = {
  event: ownMembers.indexOf('event'),
  workspace: ownMembers.indexOf('workspace'),
  sessionId: ownMembers.indexOf('session_id'),
  eventId: ownMembers.indexOf('event_id'),
  idempotencyKey: ownMembers.indexOf('idempotency_key'),
  derivedId: ownMembers.indexOf('derived_id'),
  data: ownMembers.indexOf('data'),
  timestamp: ownMembers.length + checkedDataMembers.indexOf('timestamp'),
  dataSessionId: ownMembers.length + checkedDataMembers.indexOf('session_id'),
} as const;

const openBrace = 0x7b;
const quote = 0x22;

/**
 * The event that stands from `start` up to `end`, when it passes and is plain, as nearly all are, without making its values: all of it is checked as JSON (D10). Undefined
 * for any other: `parseJson` and `parseEvent`, which make the same of whatever this takes, then say what it is.
 */
export function scanEvent(
  source: ScanSource,
  start: number,
  end: number,
  { frame, depthMax }: { readonly frame: EventFrame; readonly depthMax: number },
): AcceptedEvent | undefined {
  const { bytes } = source;
  // Arrays are looked at item by item.
  if (bytes[start] !== openBrace || !scan.run(source, start, end, depthMax)) return undefined;
  if (!scan.isAscii && !isUtf8(bytes.subarray(start, end))) return undefined;
  return acceptMembers(
    {
      event: knownValue(bytes, slots.event),
      workspace: knownValue(bytes, slots.workspace),
      sessionId: knownValue(bytes, slots.sessionId),
      eventId: valueAt(bytes, slots.eventId),
      idempotencyKey: valueAt(bytes, slots.idempotencyKey),
      derivedId: valueAt(bytes, slots.derivedId),
      hasData: true,
      timestamp: valueAt(bytes, slots.timestamp),
      dataSessionId: knownValue(bytes, slots.dataSessionId),
      dataBytes: bytes.subarray(scan.start(slots.data), scan.end(slots.data)),
      moreBytes: scan.othersLength === 0 ? undefined : moreOf(bytes),
    },
    frame,
    [],
  );
}

function moreOf(bytes: Buffer): Uint8Array {
  const members: Uint8Array[] = [];
  for (let at = 0; at < scan.othersLength; at += 2)
    members.push(bytes.subarray(scan.other(at), scan.other(at + 1)));
  return joinMembers(members);
}

/** Of a member whose texts come again and again. */
function knownValue(bytes: Buffer, slot: number): JsonValue | undefined {
  return isPlainText(bytes, slot)
    ? knownTexts.textAt(bytes, scan.start(slot) + 1, scan.end(slot) - 1)
    : valueAt(bytes, slot);
}

/** A text of its own: a part of the body would keep the whole in memory. No number, array or object is told from another: none of them passes for a text. */
function valueAt(bytes: Buffer, slot: number): JsonValue | undefined {
  const start = scan.start(slot);
  if (start < 0) return undefined;
  switch (bytes[start]) {
    case quote:
      return isPlainText(bytes, slot)
        ? bytes.toString('latin1', start + 1, scan.end(slot) - 1)
        : (JSON.parse(bytes.toString('utf8', start, scan.end(slot))) as string);
    case 0x6e: // n
      return null;
    case 0x74: // t
      return true;
    case 0x66: // f
      return false;
    default:
      return 0;
  }
}

/** A text in ASCII without an escape: its bytes are its characters. */
function isPlainText(bytes: Buffer, slot: number): boolean {
  const start = scan.start(slot);
  if (start < 0 || bytes[start] !== quote || !scan.isUnescaped(slot)) return false;
  if (scan.isAscii) return true;
  for (let at = start; at < scan.end(slot); at += 1) if ((bytes[at] ?? 0) > 0x7f) return false;
  return true;
}
