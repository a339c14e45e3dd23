import { join } from 'node:path';
import type { Disk } from '#disk';
import {
  type Frame,
  frameAlignment,
  frameHeaderBytes,
  frameKinds,
  isUnwritten,
  readFrame,
} from './frame.ts';
import { decodeAbandon, decodeJson, type MarkPayload } from './payloads.ts';
import {
  type SegmentHeader,
  decodeSegmentHeader,
  parseSegmentName,
  segmentHeaderBytes,
} from './segment.ts';
import type { PoisonedSegment } from './segment-shelf.ts';

/** Where a kept frame lies. */
export interface FramePlace {
  readonly segment: string;
  readonly at: number;
  readonly salt: number;
  readonly sequence: number;
}

/** A range of a segment that is not what was written, and is not the torn tail. */
export interface DamagedRange {
  readonly segment: string;
  readonly from: number;
  readonly to: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
}

export interface TornTail {
  readonly segment: string;
  readonly from: number;
  readonly to: number;
}

export interface ScannedSegment {
  readonly name: string;
  readonly header: SegmentHeader;
  readonly bytes: number;
}

export interface Scan {
  readonly segments: readonly ScannedSegment[];
  /** Files that hold nothing: begun and never written, or made and never begun. */
  readonly unused: readonly string[];
  readonly places: readonly FramePlace[];
  readonly lastSequence: number;
  readonly highestTenure: number;
  readonly mark: MarkPayload | undefined;
  readonly low: number;
  readonly poisoned: readonly PoisonedSegment[];
  readonly damaged: readonly DamagedRange[];
  readonly torn: TornTail | undefined;
}

interface FoundFrame {
  readonly frame: Frame;
  readonly at: number;
}

interface Gap {
  readonly from: number;
  readonly to: number;
  readonly before: number;
  /** First sound frame behind it; undefined when none follows in the segment. */
  readonly after: number | undefined;
}

interface RawSegment extends ScannedSegment {
  readonly frames: readonly FoundFrame[];
  readonly gaps: readonly Gap[];
}

/** Reads the journal once, in order, and decides what counts (QFS-03, QFS-06, QFS-20, QFS-40). Changes nothing. */
export async function scanJournal(disk: Disk, directory: string): Promise<Scan> {
  const raw: RawSegment[] = [];
  const unused: string[] = [];
  for (const { name } of await disk.readDirectory(directory)) {
    const id = parseSegmentName(name);
    if (id === undefined) continue;
    const bytes = Buffer.from((await disk.readFile(join(directory, name))) ?? []);
    const header = decodeSegmentHeader(bytes, name);
    const isOwn =
      header !== undefined && header.generation === id.generation && header.number === id.number;
    const segment = isOwn ? scanSegment(name, header, bytes) : undefined;
    if (segment === undefined || (segment.frames.length === 0 && segment.gaps.length === 0))
      unused.push(name);
    else raw.push(segment);
  }
  raw.sort(
    (a, b) => a.header.generation - b.header.generation || a.header.number - b.header.number,
  );
  return decide(raw, unused);
}

function scanSegment(name: string, header: SegmentHeader, bytes: Buffer): RawSegment {
  const frames: FoundFrame[] = [];
  const gaps: Gap[] = [];
  let at = segmentHeaderBytes;
  let last = header.firstSequence - 1;
  while (at + frameHeaderBytes <= bytes.length) {
    const frame = readFrame(bytes, at, header.salt);
    if (frame !== undefined) {
      frames.push({ frame: { ...frame, payload: new Uint8Array(0) }, at });
      if (
        frame.kind === frameKinds.abandon ||
        frame.kind === frameKinds.mark ||
        frame.kind === frameKinds.tenure
      )
        frames[frames.length - 1] = {
          frame: { ...frame, payload: Buffer.from(frame.payload) },
          at,
        };
      last = frame.sequence;
      at += frame.bytes;
      continue;
    }
    const next = findNext(bytes, at, header.salt, last);
    if (next === undefined && isUnwritten(bytes, at, header.salt)) break;
    gaps.push({
      from: at,
      to: next ?? bytes.length,
      before: last,
      after: next === undefined ? undefined : readFrame(bytes, next, header.salt)?.sequence,
    });
    if (next === undefined) break;
    at = next;
  }
  return { name, header, bytes: at, frames, gaps };
}

/** The next sound frame behind damage: frames are aligned, of this salt, and later than the last one. */
function findNext(bytes: Buffer, from: number, salt: number, last: number): number | undefined {
  for (
    let at = from + frameAlignment;
    at + frameHeaderBytes <= bytes.length;
    at += frameAlignment
  ) {
    if (bytes.readUInt32LE(at + 12) !== salt) continue;
    const frame = readFrame(bytes, at, salt);
    if (frame !== undefined && frame.sequence > last) return at;
  }
  return undefined;
}

function poisonedOf(raw: readonly RawSegment[]): Map<string, PoisonedSegment> {
  const poisoned = new Map<string, PoisonedSegment>();
  for (const { frames } of raw)
    for (const { frame } of frames)
      if (frame.kind === frameKinds.abandon)
        for (const one of decodeAbandon(frame.payload)) poisoned.set(one.name, one);
  return poisoned;
}

/** Where a later tenure began: frames of an earlier one from there on were written by a stopped daemon that nobody reads any more. */
function tenureStarts(
  raw: readonly RawSegment[],
): readonly { readonly generation: number; readonly sequence: number }[] {
  return raw.flatMap(({ frames }) =>
    frames
      .filter(({ frame }) => frame.kind === frameKinds.tenure)
      .map(({ frame }) => ({ generation: frame.tenure, sequence: frame.sequence })),
  );
}

function decide(raw: readonly RawSegment[], unused: readonly string[]): Scan {
  const poisoned = poisonedOf(raw);
  const starts = tenureStarts(raw);
  const isKept = (segment: RawSegment, sequence: number, tenure: number): boolean => {
    const bad = poisoned.get(segment.name);
    if (bad !== undefined && bad.salt === segment.header.salt && sequence > bad.lastGoodSequence)
      return false;
    return !starts.some((start) => start.generation > tenure && start.sequence <= sequence);
  };
  const kept = raw.map((segment) => ({
    segment,
    frames: segment.frames.filter(({ frame }) => isKept(segment, frame.sequence, frame.tenure)),
  }));
  const synced = Math.max(
    0,
    ...kept.flatMap(({ frames }) => frames.map(({ frame }) => frame.synced)),
  );
  const cut = walk(kept, synced, (segment) => poisoned.has(segment.name));
  const marks = cut.frames.filter(({ found }) => found.frame.kind === frameKinds.mark);
  const mark =
    marks.length === 0
      ? undefined
      : decodeJson<MarkPayload>(marks.at(-1)?.found.frame.payload ?? new Uint8Array(0));
  return {
    segments: raw.map(({ name, header, bytes }) => ({ name, header, bytes })),
    unused,
    places: cut.frames.map(({ segment, found }) => ({
      segment: segment.name,
      at: found.at,
      salt: segment.header.salt,
      sequence: found.frame.sequence,
    })),
    lastSequence: cut.last,
    highestTenure: Math.max(0, ...raw.map(({ header }) => header.generation)),
    mark,
    low: mark?.low ?? 0,
    poisoned: [...poisoned.values()].filter(({ name }) =>
      raw.some((segment) => segment.name === name),
    ),
    damaged: cut.damaged,
    torn: cut.torn,
  };
}

interface Kept {
  readonly segment: RawSegment;
  readonly frames: readonly FoundFrame[];
}

interface Cut {
  readonly frames: { readonly segment: RawSegment; readonly found: FoundFrame }[];
  readonly damaged: DamagedRange[];
  torn: TornTail | undefined;
  last: number;
}

/**
 * Follows the sequence. A hole whose sequences were known synced is damage: kept, reported, passed over. A hole above that is the torn tail: it
 * and all behind it was never acknowledged for certain, and is cut (QFS-06).
 */
function walk(
  kept: readonly Kept[],
  synced: number,
  isPoisoned: (segment: RawSegment) => boolean,
): Cut {
  const cut: Cut = { frames: [], damaged: [], torn: undefined, last: 0 };
  const first = kept.find(({ frames }) => frames.length > 0)?.frames[0];
  cut.last = (first?.frame.sequence ?? 1) - 1;
  for (const { segment, frames } of kept) {
    for (const found of frames) {
      if (found.frame.sequence <= cut.last) continue;
      const gap = segment.gaps.find(({ after }) => after === found.frame.sequence);
      if (found.frame.sequence > cut.last + 1) {
        const range = {
          segment: segment.name,
          from: gap?.from ?? found.at,
          to: gap?.to ?? found.at,
        };
        if (cut.last + 1 > synced) return { ...dropOpenGroup(cut), torn: range };
        cut.damaged.push({
          ...range,
          firstSequence: cut.last + 1,
          lastSequence: found.frame.sequence - 1,
        });
      }
      cut.frames.push({ segment, found });
      cut.last = found.frame.sequence;
    }
    const tail = segment.gaps.find(({ after }) => after === undefined);
    if (tail !== undefined && !isPoisoned(segment) && cut.last + 1 > synced)
      return {
        ...dropOpenGroup(cut),
        torn: { segment: segment.name, from: tail.from, to: tail.to },
      };
  }
  return cut;
}

/** Frames of a group whose rest is torn were never acknowledged: they go with it (QFS-06). */
function dropOpenGroup(cut: Cut): Cut {
  const last = cut.frames.at(-1)?.found.frame;
  if (last === undefined || last.groupIndex === last.groupCount - 1) return cut;
  const frames = cut.frames.slice(0, cut.frames.length - last.groupIndex - 1);
  return { ...cut, frames, last: last.sequence - last.groupIndex - 1 };
}
