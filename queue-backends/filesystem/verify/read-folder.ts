import { join } from 'node:path';
import { isMillraceError, messageOf, sha256Hex } from '#base';
import { parseStagingName, type Disk, type StagingName } from '#disk';
import type { Key } from '#record';
import { deadFileName, parseLetterLine } from '../session/dead-file.ts';
import { decodeGeneration, type GenerationFile } from '../session/generation-file.ts';
import { isOutcome } from '../session/letters.ts';
import {
  decodeOffsetRecord,
  type OffsetRecord,
  offsetRecordName,
} from '../session/offset-record.ts';
import type { DeadLine } from '../journal/payloads.ts';
import { readStored } from '../session/stored-line.ts';
import { markerName } from '../quarantine.ts';
import type { JournalFacts } from './findings.ts';
import { walkLines } from './walk-lines.ts';
import { archivePattern } from '../lifecycle/archive-log.ts';

export type RecordFacts =
  | { readonly status: 'missing' }
  | { readonly status: 'corrupt' | 'unsupported'; readonly message: string }
  | { readonly status: 'sound'; readonly record: OffsetRecord };

export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What one pass over a log tells; offsets are logical. */
export interface LogFacts {
  readonly gen: number;
  readonly base: number;
  readonly isThere: boolean;
  readonly fileEnd: number;
  /** End of the last sound line. */
  readonly soundEnd: number;
  readonly records: number;
  readonly recordsBeforeOffset: number;
  readonly recordsBeforeLogEnd: number;
  readonly recordsBehindCommitted: number;
  /** A line begins, or the file ends, at the record's offset. */
  readonly isAligned: boolean;
  /** The first of what fails its check, neighbours joined. */
  readonly bad: readonly ByteRange[];
  readonly badCount: number;
}

export interface DeadFacts {
  readonly live: number;
  readonly ahead: number;
  readonly unreadable: readonly ByteRange[];
  /** Letters whose payload does not have the digest that they name. */
  readonly altered: number;
  /** Damaged ranges of this epoch that an operator has passed over: their bytes are letters (ING-412). Logical offsets. */
  readonly passedOver: readonly ByteRange[];
}

export interface FolderFacts {
  readonly key: Key;
  readonly path: string;
  readonly record: RecordFacts;
  /** Of the generation that the record names, or else the newest that is there. */
  readonly gen: number;
  readonly generation: GenerationFile | 'corrupt' | undefined;
  readonly generations: readonly number[];
  readonly logs: readonly number[];
  readonly log: LogFacts;
  readonly dead: DeadFacts;
  readonly retired: readonly string[];
  readonly retiredLetters: number;
  readonly retiredUnreadable: number;
  readonly quarantine: string | null;
  readonly staging: readonly StagingName[];
  readonly evidence: readonly string[];
  readonly unknown: readonly string[];
}

/** Ranges that are told one by one. */
const rangesMax = 20;

/** Looks at everything in a session folder, in bounded memory, and changes nothing. */
export async function readFolder(
  disk: Disk,
  sessions: string,
  place: { readonly shard: string; readonly key: Key },
  journal: JournalFacts | undefined,
): Promise<FolderFacts> {
  const { shard, key } = place;
  const folder = join(sessions, shard, key);
  const names = (await disk.readDirectory(folder)).map(({ name }) => name);
  const sorted = sortNames(names);
  // The record first: what a running daemon writes after it can only be more.
  const record = await readRecord(disk, key, join(folder, offsetRecordName));
  const sound = record.status === 'sound' ? record.record : undefined;
  const gen = sound?.gen ?? Math.max(0, ...sorted.logs, ...sorted.generations);
  const generation = await readGeneration(disk, join(folder, generationName(gen)));
  const described = generation === 'corrupt' ? undefined : generation;
  const base = sound?.base ?? described?.base ?? 0;
  const epoch = sound?.epoch ?? described?.epoch;
  const own = journal?.epoch === epoch ? journal : undefined;
  const committed = committedOf(sound, own);
  const log = await readLog(disk, join(folder, logName(gen)), {
    gen,
    base,
    offset: sound?.offset,
    logEnd: sound?.log_end,
    committed,
  });
  const dead = await readDead(disk, join(folder, deadFileName), { epoch, committed });
  const retired = await readRetired(disk, folder, sorted.retired);
  return {
    key,
    path: join('sessions', shard, key),
    record,
    gen,
    generation,
    log,
    dead,
    ...retired,
    quarantine: await readQuarantine(disk, join(folder, markerName)),
    ...sorted,
  };
}

export function committedOf(
  record: OffsetRecord | undefined,
  journal: JournalFacts | undefined,
): number | undefined {
  if (record === undefined) return journal?.committed;
  // A reset may set the position back.
  if (journal?.isRetold === true && journal.committed !== undefined) return journal.committed;
  return Math.max(record.offset, journal?.committed ?? 0);
}

export function logName(gen: number): string {
  return `log.${String(gen).padStart(6, '0')}.jsonl`;
}

export function generationName(gen: number): string {
  return `generation.${String(gen).padStart(6, '0')}.json`;
}

type SortedNames = Pick<
  FolderFacts,
  'logs' | 'generations' | 'retired' | 'staging' | 'evidence' | 'unknown'
>;

function sortNames(names: readonly string[]): SortedNames {
  const logs: number[] = [];
  const generations: number[] = [];
  const retired: string[] = [];
  const staging: StagingName[] = [];
  const evidence: string[] = [];
  const unknown: string[] = [];
  for (const name of names) {
    if (name === offsetRecordName || name === deadFileName || name === markerName) continue;
    const numbered = /^(log|generation)\.(\d{6,})\.jsonl?$/.exec(name);
    const staged = parseStagingName(name);
    if (staged !== undefined) staging.push(staged);
    else if (/\.(corrupt|replaced|torn|restored)(\.|$)/.test(name)) evidence.push(name);
    else if (numbered?.[1] === 'log') logs.push(Number(numbered[2]));
    else if (numbered !== null) generations.push(Number(numbered[2]));
    else if (/^dead\.[A-Za-z0-9_-]+\.jsonl$/.test(name)) retired.push(name);
    else if (archivePattern.test(name)) continue;
    else unknown.push(name);
  }
  return { logs, generations, retired, staging, evidence, unknown };
}

async function readRecord(disk: Disk, key: Key, path: string): Promise<RecordFacts> {
  const bytes = await disk.readFile(path);
  if (bytes === undefined) return { status: 'missing' };
  try {
    return { status: 'sound', record: decodeOffsetRecord(key, bytes) };
  } catch (error) {
    if (!isMillraceError(error) || error.disposition !== 'corrupt') throw error;
    const status = error.code === 'OFFSET_UNSUPPORTED' ? 'unsupported' : 'corrupt';
    return { status, message: messageOf(error) };
  }
}

async function readGeneration(disk: Disk, path: string): Promise<FolderFacts['generation']> {
  const bytes = await disk.readFile(path);
  return bytes === undefined ? undefined : (decodeGeneration(bytes) ?? 'corrupt');
}

interface LogQuestion {
  readonly gen: number;
  readonly base: number;
  readonly offset: number | undefined;
  readonly logEnd: number | undefined;
  readonly committed: number | undefined;
}

async function readLog(disk: Disk, path: string, asked: LogQuestion): Promise<LogFacts> {
  const { base, offset = base, logEnd = 0, committed = 0 } = asked;
  const bad: ByteRange[] = [];
  const stat = await disk.stat(path);
  const seen = { records: 0, beforeOffset: 0, beforeLogEnd: 0, behind: 0, bad: 0 };
  let [fileEnd, soundEnd] = [base, base];
  let isAligned = offset === base;
  for await (const line of walkLines(disk, path)) {
    const [from, to] = [base + line.start, base + line.end];
    fileEnd = to;
    if (to === offset) isAligned = true;
    if (line.bytes === undefined || !line.isTerminated || readStored(line.bytes) === undefined) {
      seen.bad += 1;
      const last = bad.at(-1);
      if (last?.to === from) bad[bad.length - 1] = { from: last.from, to };
      else if (bad.length < rangesMax) bad.push({ from, to });
      continue;
    }
    soundEnd = to;
    seen.records += 1;
    if (to <= offset) seen.beforeOffset += 1;
    if (to <= logEnd) seen.beforeLogEnd += 1;
    if (from >= committed) seen.behind += 1;
  }
  return {
    gen: asked.gen,
    base,
    isThere: stat !== undefined,
    fileEnd,
    soundEnd,
    records: seen.records,
    recordsBeforeOffset: seen.beforeOffset,
    recordsBeforeLogEnd: seen.beforeLogEnd,
    recordsBehindCommitted: seen.behind,
    isAligned,
    bad,
    badCount: seen.bad,
  };
}

async function readDead(
  disk: Disk,
  path: string,
  asked: { readonly epoch: string | undefined; readonly committed: number | undefined },
): Promise<DeadFacts> {
  const live = new Set<string>();
  const settled = new Set<string>();
  const unreadable: ByteRange[] = [];
  let ahead = 0;
  let altered = 0;
  const passedOver: ByteRange[] = [];
  for await (const { start, end, bytes, isTerminated } of walkLines(disk, path)) {
    const line = bytes === undefined ? undefined : parseLetterLine(withoutBreak(bytes));
    if (line === undefined || !isTerminated) {
      if (unreadable.length < rangesMax) unreadable.push({ from: start, to: end });
      continue;
    }
    if (isOutcome(line)) {
      settled.add(line.id);
      live.delete(line.id);
      continue;
    }
    if (!settled.has(line.id)) live.add(line.id);
    const { committed } = asked;
    if (line.epoch === asked.epoch && committed !== undefined && line.pos_start >= committed)
      ahead += 1;
    if (line.epoch === asked.epoch && line.records !== undefined)
      passedOver.push({ from: line.pos_start, to: line.pos_end });
    if (isAltered(line)) altered += 1;
  }
  return { live: live.size, ahead, unreadable, altered, passedOver };
}

function isAltered(line: DeadLine): boolean {
  const payload =
    line.payload === undefined
      ? Buffer.from(line.payload_b64 ?? '', 'base64')
      : Buffer.from(line.payload, 'utf8');
  return sha256Hex(payload) !== line.sha256;
}

function withoutBreak(bytes: Buffer): Buffer {
  return bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
}

async function readRetired(
  disk: Disk,
  folder: string,
  names: readonly string[],
): Promise<Pick<FolderFacts, 'retiredLetters' | 'retiredUnreadable'>> {
  let retiredLetters = 0;
  let retiredUnreadable = 0;
  for (const name of names)
    for await (const { bytes } of walkLines(disk, join(folder, name))) {
      const line = bytes === undefined ? undefined : parseLetterLine(withoutBreak(bytes));
      if (line === undefined) retiredUnreadable += 1;
      else if (!isOutcome(line)) retiredLetters += 1;
    }
  return { retiredLetters, retiredUnreadable };
}

async function readQuarantine(disk: Disk, path: string): Promise<string | null> {
  const bytes = await disk.readFile(path);
  if (bytes === undefined) return null;
  try {
    const { code, message } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Readonly<
      Record<string, unknown>
    >;
    return `${String(code)}: ${String(message)}`;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return 'its marker cannot be read';
  }
}
