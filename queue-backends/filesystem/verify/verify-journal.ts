import { join } from 'node:path';
import { parseStagingName, type Disk } from '#disk';
import { type Key, parseKey } from '#record';
import { type Frame, frameKinds, readFrame } from '../journal/frame.ts';
import {
  type CommitPayload,
  type RemovalPayload,
  decodeAppend,
  decodeCopy,
  decodeJson,
} from '../journal/payloads.ts';
import { decodeSegmentHeader, parseSegmentName, segmentHeaderBytes } from '../journal/segment.ts';
import { type Scan, type SegmentRange, scanJournal } from '../recovery/recovery-scan.ts';
import type { FindingCode, JournalFacts, VerifiedJournal, VerifyFinding } from './findings.ts';

export interface ReadJournal {
  readonly journal: VerifiedJournal;
  readonly keys: ReadonlyMap<Key, JournalFacts>;
}

const folder = 'journal';

/**
 * Reads the journal as recovery would (QFS-20), one segment at a time, and changes nothing. On a live root the newest group may be half written:
 * what looks torn is a note then. FORMAT_TOO_NEW for a newer version.
 */
export async function verifyJournal(
  disk: Disk,
  queue: string,
  isLive: boolean,
): Promise<ReadJournal> {
  const directory = join(queue, folder);
  const scan = await scanJournal(disk, directory);
  const findings = [
    ...(await strayFindings(disk, directory, isLive)),
    ...scanFindings(scan, isLive),
  ];
  const keys = await readKeys(disk, directory, scan);
  const journal: VerifiedJournal = {
    segments: scan.segments.length + scan.unused.length,
    bytes: scan.segments.reduce((sum, { bytes }) => sum + bytes, 0),
    tenure: scan.highestTenure,
    mark: scan.mark?.low ?? null,
    last_sequence: scan.lastSequence,
    frames_above_mark: scan.places.length,
    findings,
  };
  return { journal, keys };
}

/** Files that are no segment, and segments whose first bytes are damaged. */
async function strayFindings(
  disk: Disk,
  directory: string,
  isLive: boolean,
): Promise<VerifyFinding[]> {
  const findings: VerifyFinding[] = [];
  const add = (code: FindingCode, name: string, message: string, isNote = false): void => {
    const level = isNote ? 'note' : 'finding';
    findings.push({ code, level, path: join(folder, name), message });
  };
  for (const { name } of await disk.readDirectory(directory)) {
    if (parseSegmentName(name) !== undefined) {
      if (await hasDamagedHeader(disk, join(directory, name)))
        add('segment_header_damaged', name, 'the first 64 bytes are no segment header', isLive);
    } else if (/\.(corrupt|torn)\.bin$/.test(name))
      add('evidence_kept', name, 'bytes that a recovery passed over or cut off', true);
    else if (parseStagingName(name) !== undefined)
      add('staging_leftover', name, 'staging of a write that did not end', true);
    else add('file_unknown', name, 'no file of a journal');
  }
  return findings;
}

/** Zeros are a file that was made and never begun. */
async function hasDamagedHeader(disk: Disk, path: string): Promise<boolean> {
  if ((await disk.stat(path)) === undefined) return false;
  const file = await disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(segmentHeaderBytes);
    const head = bytes.subarray(0, await file.readAt(bytes, 0));
    return !head.every((byte) => byte === 0) && decodeSegmentHeader(head, path) === undefined;
  } finally {
    await file.close();
  }
}

function scanFindings(scan: Scan, isLive: boolean): VerifyFinding[] {
  const findings: VerifyFinding[] = [];
  for (const { ranges, firstSequence, lastSequence } of scan.damaged) {
    const message = `frames ${firstSequence} to ${lastSequence} were synced and cannot be read: acknowledged records may be among them`;
    const places: readonly (SegmentRange | undefined)[] = ranges.length > 0 ? ranges : [undefined];
    for (const range of places)
      findings.push({
        code: 'journal_damaged',
        level: isLive ? 'note' : 'finding',
        ...placeOf(range),
        message,
      });
  }
  if (scan.torn !== undefined)
    findings.push({
      code: 'journal_torn',
      level: isLive ? 'note' : 'finding',
      ...placeOf(scan.torn),
      message: isLive
        ? 'the last group is being written'
        : 'the last group is torn: the next start cuts it off and keeps its bytes',
    });
  return findings;
}

function placeOf(range: SegmentRange | undefined): Pick<VerifyFinding, 'path' | 'from' | 'to'> {
  if (range === undefined) return { path: folder };
  return { path: join(folder, range.segment), from: range.from, to: range.to };
}

async function readKeys(
  disk: Disk,
  directory: string,
  scan: Scan,
): Promise<Map<Key, JournalFacts>> {
  const keys = new Map<Key, JournalFacts>();
  let name: string | undefined;
  let bytes: Buffer = Buffer.alloc(0);
  for (const place of scan.places) {
    if (place.segment !== name) {
      name = place.segment;
      bytes = Buffer.from((await disk.readFile(join(directory, name))) ?? []);
    }
    // On a live root the segment may have been used again since it was scanned.
    const frame = readFrame(bytes, place.at, place.salt);
    if (frame?.sequence === place.sequence) takeFrame(keys, frame);
  }
  return keys;
}

/** Kinds that change a session's folder as a whole. */
const retelling: ReadonlySet<number> = new Set([
  frameKinds.quarantineClear,
  frameKinds.generation,
  frameKinds.finalise,
  frameKinds.reset,
]);

type Told = Pick<Frame, 'kind' | 'payload'>;

function takeFrame(keys: Map<Key, JournalFacts>, { kind, payload }: Told): void {
  if (kind === frameKinds.append) takeAppend(keys, payload);
  else if (kind === frameKinds.commit) takeCommit(keys, decodeJson<CommitPayload>(payload));
  else if (kind === frameKinds.copy)
    for (const frame of decodeCopy(payload).frames) takeFrame(keys, frame);
  else if (kind === frameKinds.removal) keys.delete(decodeJson<RemovalPayload>(payload).k);
  else if (retelling.has(kind)) takeRetelling(keys, payload);
}

function takeAppend(keys: Map<Key, JournalFacts>, payload: Uint8Array): void {
  const { meta } = decodeAppend(payload);
  for (const { k, at, len } of meta.records) {
    const head = meta.keys[k];
    if (head === undefined) continue;
    const facts = factsOf(keys, head.k, head.e, head.o, at);
    facts.toldFrom = Math.min(facts.toldFrom, at);
    facts.end = Math.max(facts.end, at + len);
    facts.starts.add(at);
  }
}

function takeCommit(keys: Map<Key, JournalFacts>, { k, e, o, after }: CommitPayload): void {
  const facts = factsOf(keys, k, e, o, Number.POSITIVE_INFINITY);
  facts.committed = Math.max(facts.committed ?? 0, after);
}

/** A frame that rewrites a key as a whole names it by `k`; what else it says is for recovery to carry out. */
function takeRetelling(keys: Map<Key, JournalFacts>, payload: Uint8Array): void {
  const { k, e, o, after } = decodeJson<Readonly<Record<string, unknown>>>(payload);
  const key = typeof k === 'string' ? parseKey(k) : undefined;
  if (key === undefined) return;
  const known = keys.get(key);
  const epoch = typeof e === 'string' ? e : (known?.epoch ?? '');
  const ordinal = typeof o === 'number' ? o : (known?.ordinal ?? 0);
  const facts = factsOf(keys, key, epoch, ordinal, Number.POSITIVE_INFINITY);
  facts.isRetold = true;
  if (typeof after === 'number') facts.committed = after;
}

/** A later epoch begins anew; its positions have nothing to do with those before. */
function factsOf(
  keys: Map<Key, JournalFacts>,
  key: Key,
  epoch: string,
  ordinal: number,
  at: number,
): JournalFacts {
  const known = keys.get(key);
  if (known !== undefined && known.epoch === epoch) return known;
  const made: JournalFacts = {
    epoch,
    ordinal,
    toldFrom: at,
    end: 0,
    committed: undefined,
    starts: new Set(),
    isRetold: known?.isRetold ?? false,
  };
  keys.set(key, made);
  return made;
}
