import { join } from 'node:path';
import type { Disk } from '#disk';
import { type Frame, frameKinds } from '../journal/frame.ts';
import { decodeAbandon, decodeJson, type MarkPayload } from '../journal/payloads.ts';
import { type FoundFrame, type ScannedSegment, scanSegment } from '../journal/scan-segment.ts';
import {
  type SegmentHeader,
  decodeSegmentHeader,
  parseSegmentName,
  segmentHeaderBytes,
} from '../journal/segment.ts';
import type { PoisonedSegment } from '../journal/segment-shelf.ts';

/** Where a kept frame lies. */
export interface FramePlace {
  readonly segment: string;
  readonly at: number;
  readonly salt: number;
  readonly sequence: number;
}

export interface SegmentRange {
  readonly segment: string;
  readonly from: number;
  readonly to: number;
}

/** Sequences that were known synced and cannot be read, with the bytes in which they must have been. */
export interface DamagedRange {
  readonly ranges: readonly SegmentRange[];
  readonly firstSequence: number;
  readonly lastSequence: number;
}

export interface Scan {
  /** Files with frames, and the last kept sequence in each. */
  readonly segments: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly lastSequence: number;
  }[];
  /** Files without a frame that is needed: made and never begun, begun and never written, or below the mark. */
  readonly unused: readonly string[];
  /** Kept frames above the mark, in order. */
  readonly places: readonly FramePlace[];
  readonly lastSequence: number;
  readonly highestTenure: number;
  readonly mark: MarkPayload | undefined;
  /** Whether a frame of this tenure and sequence is one that the journal knows, or knew: an older copy of it does not, nor one that was taken over. */
  readonly knows: (tenure: number, sequence: number) => boolean;
  readonly poisoned: readonly PoisonedSegment[];
  readonly damaged: readonly DamagedRange[];
  readonly torn: SegmentRange | undefined;
}

interface NamedHeader {
  readonly name: string;
  readonly header: SegmentHeader;
}

/**
 * Reads the journal and decides what counts (QFS-03, QFS-06, QFS-20, QFS-40); changes nothing. From the newest segment back to the one in which
 * the frames after the low-water mark begin: what lies before is read by nobody any more, and may be a quarter of a gigabyte.
 */
export async function scanJournal(disk: Disk, directory: string): Promise<Scan> {
  const { headers, unused } = await readHeaders(disk, directory);
  const scanned: ScannedSegment[] = [];
  let low = 0;
  /** First sequence of the segment behind, and of the tenure behind. */
  let next = Number.POSITIVE_INFINITY;
  let tenureStart = Number.POSITIVE_INFINITY;
  let newest = 0;
  for (const { name, header } of headers.toReversed()) {
    if (next - 1 <= low) {
      unused.push(name);
      continue;
    }
    const bytes = Buffer.from((await disk.readFile(join(directory, name))) ?? []);
    const segment = scanSegment(name, header, bytes);
    if (segment.frames.length === 0 && segment.gaps.length === 0) {
      unused.push(name);
      continue;
    }
    if (header.generation !== newest) tenureStart = next;
    newest = header.generation;
    low = Math.max(low, lowOf(segment, tenureStart));
    next = Math.min(next, header.firstSequence);
    scanned.unshift(segment);
  }
  return decide(scanned, headers, unused);
}

/** The highest mark that a segment tells; what its tenure wrote after the next one began tells nothing. */
function lowOf({ header, frames }: ScannedSegment, tenureStart: number): number {
  if (header.firstSequence >= tenureStart) return 0;
  return frames
    .filter(({ frame }) => frame.kind === frameKinds.mark && frame.sequence < tenureStart)
    .reduce((low, { frame }) => Math.max(low, decodeJson<MarkPayload>(frame.payload).low), 0);
}

/** Headers in the order of the journal, and the files that were never begun. */
async function readHeaders(
  disk: Disk,
  directory: string,
): Promise<{ readonly headers: readonly NamedHeader[]; readonly unused: string[] }> {
  const headers: NamedHeader[] = [];
  const unused: string[] = [];
  for (const { name } of await disk.readDirectory(directory)) {
    const id = parseSegmentName(name);
    if (id === undefined) continue;
    const header = decodeSegmentHeader(await readHead(disk, join(directory, name)), name);
    // A recycled file may have its new name and still its old header: nothing in it counts.
    if (header?.generation === id.generation && header.number === id.number)
      headers.push({ name, header });
    else unused.push(name);
  }
  headers.sort((a, b) => byNumber(a.header, b.header));
  return { headers, unused };
}

async function readHead(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(segmentHeaderBytes);
    return bytes.subarray(0, await file.readAt(bytes, 0));
  } finally {
    await file.close();
  }
}

function byNumber(a: SegmentHeader, b: SegmentHeader): number {
  return a.generation - b.generation || a.number - b.number;
}

function poisonedOf(segments: readonly ScannedSegment[]): Map<string, PoisonedSegment> {
  const poisoned = new Map<string, PoisonedSegment>();
  for (const { frames } of segments)
    for (const { frame } of frames)
      if (frame.kind === frameKinds.abandon)
        for (const one of decodeAbandon(frame.payload)) poisoned.set(one.name, one);
  return poisoned;
}

/** The first sequence of each tenure that wrote a frame: what an earlier one wrote from there on nobody reads any more (QFS-40). */
function tenureStarts(segments: readonly ScannedSegment[]): ReadonlyMap<number, number> {
  const starts = new Map<number, number>();
  for (const { header, frames } of segments) {
    if (frames.length === 0) continue;
    const known = starts.get(header.generation) ?? header.firstSequence;
    starts.set(header.generation, Math.min(known, header.firstSequence));
  }
  return starts;
}

interface Placed extends FoundFrame {
  readonly segment: ScannedSegment;
}

function decide(
  segments: readonly ScannedSegment[],
  headers: readonly NamedHeader[],
  unused: readonly string[],
): Scan {
  const poisoned = poisonedOf(segments);
  const starts = tenureStarts(segments);
  const isOutdated = (tenure: number, sequence: number): boolean =>
    [...starts].some(([generation, start]) => generation > tenure && start <= sequence);
  const isKept = ({ segment, frame }: Placed): boolean => {
    const bad = poisoned.get(segment.name);
    const isAbandoned = bad?.salt === segment.header.salt && frame.sequence > bad.lastGoodSequence;
    return !isAbandoned && !isOutdated(frame.tenure, frame.sequence);
  };
  const kept = segments
    .flatMap((segment) => segment.frames.map((found) => ({ ...found, segment })))
    .filter(isKept);
  const known = headers.filter(
    ({ header }) => !isOutdated(header.generation, header.firstSequence),
  );
  let synced = known.reduce((most, { header }) => Math.max(most, header.firstSequence - 1), 0);
  for (const { frame } of kept) synced = Math.max(synced, frame.synced);
  const mark = lastMark(kept);
  const cut = walk(kept, synced, mark?.low);
  const lastOf = (name: string): number =>
    cut.frames.findLast(({ segment }) => segment.name === name)?.frame.sequence ?? 0;
  return {
    segments: segments.map(({ name, bytes }) => ({ name, bytes, lastSequence: lastOf(name) })),
    unused,
    places: cut.frames.map(({ segment, frame, at }) => ({
      segment: segment.name,
      at,
      salt: segment.header.salt,
      sequence: frame.sequence,
    })),
    lastSequence: cut.last,
    highestTenure: segments.at(-1)?.header.generation ?? 0,
    mark,
    knows: (tenure, sequence) => sequence <= cut.last && !isOutdated(tenure, sequence),
    poisoned: [...poisoned.values()].filter(({ name }) =>
      segments.some((segment) => segment.name === name),
    ),
    damaged: cut.damaged,
    torn: cut.torn ?? tornTail(segments, cut, (name) => poisoned.has(name)),
  };
}

/** A mark says what was durable before it was written, so it counts wherever it can be read. */
function lastMark(kept: readonly Placed[]): MarkPayload | undefined {
  const marks = kept
    .filter(({ frame }) => frame.kind === frameKinds.mark)
    .map(({ frame }) => decodeJson<MarkPayload>(frame.payload));
  return marks.reduce<MarkPayload | undefined>(
    (best, one) => (best === undefined || one.low >= best.low ? one : best),
    undefined,
  );
}

interface Cut {
  readonly frames: readonly Placed[];
  readonly damaged: readonly DamagedRange[];
  readonly torn: SegmentRange | undefined;
  readonly last: number;
}

/**
 * Follows the sequence from the mark on. A hole whose sequences were known synced is damage: kept, reported, passed over. A hole above that is
 * the torn tail: its group and all behind it was never acknowledged for certain, and is cut (QFS-06).
 */
function walk(kept: readonly Placed[], synced: number, low: number | undefined): Cut {
  const frames: Placed[] = [];
  const damaged: DamagedRange[] = [];
  let last = low ?? (kept[0]?.frame.sequence ?? 1) - 1;
  let before: Placed | undefined;
  for (const found of kept) {
    const { sequence } = found.frame;
    if (sequence > last + 1) {
      const ranges = gapsBetween(before, found);
      if (last + 1 > synced) return dropOpenGroup({ frames, damaged, torn: ranges[0], last });
      damaged.push({ ranges, firstSequence: last + 1, lastSequence: sequence - 1 });
    }
    before = found;
    if (sequence <= last) continue;
    frames.push(found);
    last = sequence;
  }
  return dropOpenGroup({ frames, damaged, torn: undefined, last });
}

/** Where the frames between two kept ones must have been: behind the one, before the other. */
function gapsBetween(before: Placed | undefined, after: Placed): readonly SegmentRange[] {
  const ranges: SegmentRange[] = [];
  const isOther = before !== undefined && before.segment !== after.segment;
  for (const { from, to, after: next } of isOther ? before.segment.gaps : [])
    if (next === undefined) ranges.push({ segment: before?.segment.name ?? '', from, to });
  for (const { from, to, after: next } of after.segment.gaps)
    if (next === after.frame.sequence) ranges.push({ segment: after.segment.name, from, to });
  return ranges;
}

/** Frames of a group whose rest cannot be read were never acknowledged: they go with it (QFS-06). */
function dropOpenGroup(cut: Cut): Cut {
  const last: Frame | undefined = cut.frames.at(-1)?.frame;
  if (last === undefined || last.groupIndex === last.groupCount - 1) return cut;
  const first = last.sequence - last.groupIndex;
  const frames = cut.frames.filter(({ frame }) => frame.sequence < first);
  return { ...cut, frames, last: Math.min(cut.last, first - 1) };
}

/** What is left of a group of which not one frame behind the last kept one can be read. */
function tornTail(
  segments: readonly ScannedSegment[],
  cut: Cut,
  isPoisoned: (name: string) => boolean,
): SegmentRange | undefined {
  const segment = cut.frames.at(-1)?.segment ?? segments.at(-1);
  const gap = segment?.gaps.find(({ after }) => after === undefined);
  if (segment === undefined || gap === undefined || isPoisoned(segment.name)) return undefined;
  return { segment: segment.name, from: gap.from, to: gap.to };
}
