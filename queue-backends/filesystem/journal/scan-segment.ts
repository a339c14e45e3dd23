import {
  type Frame,
  frameAlignment,
  frameHeaderBytes,
  frameKinds,
  isUnwritten,
  readFrame,
} from './frame.ts';
import { type SegmentHeader, segmentHeaderBytes } from './segment.ts';

export interface FoundFrame {
  /** The payload is kept for the kinds that a scan decides by, and empty for all others. */
  readonly frame: Frame;
  readonly at: number;
}

/** Bytes between two sound frames, or behind the last one, that are no frame and were written in this life of the segment. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Sequence of the first sound frame behind it; undefined when none follows in the segment. */
  readonly after: number | undefined;
}

export interface ScannedSegment {
  readonly name: string;
  readonly header: SegmentHeader;
  /** End of the last sound frame. */
  readonly bytes: number;
  readonly frames: readonly FoundFrame[];
  readonly gaps: readonly Gap[];
}

const decisiveKinds: ReadonlySet<number> = new Set([
  frameKinds.abandon,
  frameKinds.mark,
  frameKinds.tenure,
]);

/** Every sound frame of a segment, and what lies between them; `keepsAll` keeps every payload, as a view of `bytes`. */
export function scanSegment(
  name: string,
  header: SegmentHeader,
  bytes: Buffer,
  keepsAll = false,
): ScannedSegment {
  const frames: FoundFrame[] = [];
  const gaps: Gap[] = [];
  let at = segmentHeaderBytes;
  let end = at;
  let last = header.firstSequence - 1;
  while (at + frameHeaderBytes <= bytes.length) {
    const frame = readFrame(bytes, at, header.salt);
    if (frame !== undefined) {
      frames.push({ frame: keepsAll ? frame : forScan(frame), at });
      last = frame.sequence;
      at += frame.bytes;
      end = at;
      continue;
    }
    const next = findNext(bytes, at, header.salt, last);
    if (next !== undefined) gaps.push({ from: at, to: next.at, after: next.frame.sequence });
    else if (!isUnwritten(bytes, at, header.salt))
      gaps.push({ from: at, to: bytes.length, after: undefined });
    if (next === undefined) break;
    at = next.at;
  }
  return { name, header, bytes: end, frames, gaps };
}

function forScan(frame: Frame): Frame {
  const payload = decisiveKinds.has(frame.kind) ? Buffer.from(frame.payload) : new Uint8Array(0);
  return { ...frame, payload };
}

/** The next sound frame behind damage: frames are aligned, of this salt, and later than the last one. */
function findNext(bytes: Buffer, from: number, salt: number, last: number): FoundFrame | undefined {
  // Natively, since the rest of a segment may be 64 MiB of zeros.
  const wanted = Buffer.alloc(4);
  wanted.writeUInt32LE(salt);
  const saltAt = 12;
  let found = bytes.indexOf(wanted, from + frameAlignment + saltAt);
  for (; found >= 0; found = bytes.indexOf(wanted, found + 1)) {
    const at = found - saltAt;
    if ((at - segmentHeaderBytes) % frameAlignment !== 0) continue;
    const frame = readFrame(bytes, at, salt);
    if (frame !== undefined && frame.sequence > last) return { frame, at };
  }
  return undefined;
}
