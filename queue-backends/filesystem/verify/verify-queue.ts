import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '#base';
import type { Disk } from '#disk';
import { type Key, parseKey } from '#record';
import { queueForeign } from '../errors.ts';
import { parseFormat } from '../format-file.ts';
import { askGraph } from './ask-graph.ts';
import type {
  BondedLog,
  GraphWord,
  JournalFacts,
  VerifiedJournal,
  VerifiedKey,
  VerifyFinding,
} from './findings.ts';
import { judgeKey } from './judge-key.ts';
import { readFolder } from './read-folder.ts';
import { type ReadJournal, verifyJournal } from './verify-journal.ts';

export interface VerifyOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** `<root>/queue` */
  readonly directory: string;
  readonly rootId: string;
  /** A daemon writes this root meanwhile. */
  readonly isLive: boolean;
  /** Told of each session folder, in no order that means anything. */
  readonly onKey: (key: VerifiedKey) => Promise<void> | void;
  /** Of the folder as a whole. */
  readonly onFinding: (finding: VerifyFinding) => void;
  readonly onProgress: (seen: { readonly keys: number; readonly records: number }) => void;
  /** Compares a session with its graph; without it nothing is compared. */
  readonly askGraph?: ((log: BondedLog) => GraphWord) | undefined;
}

export interface VerifySummary {
  readonly keys: number;
  readonly records: number;
  readonly pending: number;
  readonly dead: number;
  readonly retired: number;
  readonly quarantined: number;
  readonly journal: VerifiedJournal;
}

type Tally = { -readonly [Member in keyof VerifySummary]: VerifySummary[Member] };

/** Progress is told after each thousand keys, and after each key that took a while. */
const manyRecords = 50_000;
/** A key that changes under the look is looked at again this often, with a moment in between. */
const looksMax = 3;
const betweenLooksMs = 100;

/**
 * Reads the whole queue folder and changes nothing (ING-921); takes no lock, so that no start is refused for it. Memory follows the frames above the
 * mark and the largest record, not the size of the root. QUEUE_FOREIGN and FORMAT_TOO_NEW when the folder cannot be read at all.
 */
export async function verifyQueue(options: VerifyOptions): Promise<VerifySummary> {
  const { disk, directory, isLive, onFinding } = options;
  await checkFormat(options);
  const read = await verifyJournal(disk, directory, isLive);
  const tally: Tally = {
    keys: 0,
    records: 0,
    pending: 0,
    dead: 0,
    retired: 0,
    quarantined: 0,
    journal: read.journal,
  };
  for (const finding of read.journal.findings) onFinding(finding);
  const met = await verifyShards(options, read, tally);
  if (read.journal.segments === 0 && tally.keys > 0)
    onFinding({
      code: 'journal_missing',
      level: 'finding',
      path: 'journal',
      message: 'there are sessions and no journal: the next start takes them as they are (QFS-13)',
    });
  for (const [key, facts] of read.keys) if (!met.has(key)) takeUnfiled(tally, facts);
  return tally;
}

async function checkFormat({ disk, directory, rootId }: VerifyOptions): Promise<void> {
  const bytes = await disk.readFile(join(directory, 'format.json'));
  if (bytes !== undefined) {
    parseFormat({ directory, rootId }, bytes);
    return;
  }
  for (const name of ['journal', 'sessions'])
    if ((await disk.readDirectory(join(directory, name))).length > 0)
      throw queueForeign({ directory, reason: `it has ${name}/ and no format.json` });
}

/** Returns the keys of the journal that have a folder. */
async function verifyShards(
  options: VerifyOptions,
  read: ReadJournal,
  tally: Tally,
): Promise<ReadonlySet<Key>> {
  const { disk, directory, onFinding } = options;
  const sessions = join(directory, 'sessions');
  const met = new Set<Key>();
  const unknown = (path: string, message: string): void =>
    onFinding({ code: 'folder_unknown', level: 'finding', path: join('sessions', path), message });
  for (const shard of await disk.readDirectory(sessions)) {
    if (shard.kind !== 'directory' || !/^[0-9a-f]{2}$/.test(shard.name)) {
      unknown(shard.name, 'no shard of session folders');
      continue;
    }
    for (const { name, kind } of await disk.readDirectory(join(sessions, shard.name))) {
      const key = kind === 'directory' ? parseKey(name) : undefined;
      if (key === undefined) {
        unknown(join(shard.name, name), 'its name is no key');
        continue;
      }
      if (read.keys.has(key)) met.add(key);
      await verifyKey(options, read, tally, { shard: shard.name, key });
    }
  }
  return met;
}

async function verifyKey(
  options: VerifyOptions,
  read: ReadJournal,
  tally: Tally,
  place: { readonly shard: string; readonly key: Key },
): Promise<void> {
  const verified = await lookAt(options, read, place);
  const expected = hash('sha256', place.key, 'hex').slice(0, 2);
  const misplaced: readonly VerifyFinding[] =
    expected === place.shard
      ? []
      : [
          {
            code: 'folder_misplaced',
            level: 'finding',
            path: join('sessions', place.shard, place.key),
            message: `it belongs into ${expected}/: the daemon does not look here`,
          },
        ];
  tally.keys += 1;
  tally.records += verified.records;
  tally.pending += verified.pending;
  tally.dead += verified.dead;
  tally.retired += verified.retired;
  if (verified.quarantine !== null) tally.quarantined += 1;
  if (tally.keys % 1000 === 0 || verified.records >= manyRecords) options.onProgress(tally);
  await options.onKey({ ...verified, findings: [...misplaced, ...verified.findings] });
}

/** Beside a running daemon a folder may change between two of our reads: what is found only once counts for nothing. */
async function lookAt(
  options: VerifyOptions,
  { journal, keys }: ReadJournal,
  place: { readonly shard: string; readonly key: Key },
): Promise<VerifiedKey> {
  const { disk, directory, clock, isLive } = options;
  const facts = keys.get(place.key);
  for (let look = 1; ; look += 1) {
    const folder = await readFolder(disk, join(directory, 'sessions'), place, facts);
    const verified = judgeKey(folder, { journal, facts, isLive });
    const isClean = verified.findings.every(({ level }) => level === 'note');
    if (isClean && options.askGraph !== undefined) {
      const told = { facts, end: verified.end };
      const differing = await askGraph(options, folder, told, options.askGraph);
      return { ...verified, findings: [...verified.findings, ...differing] };
    }
    if (isClean || !isLive || look >= looksMax) return verified;
    await clock.sleep(betweenLooksMs);
  }
}

/** A key that only the journal knows yet. */
function takeUnfiled(tally: Tally, { starts, committed = 0 }: JournalFacts): void {
  tally.keys += 1;
  tally.records += starts.size;
  tally.pending += [...starts].filter((at) => at >= committed).length;
}
