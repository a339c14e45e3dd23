import { join } from 'node:path';
import { atomicReplace } from '#disk';
import { evidenceKept } from '#signals';
import type { DeadLetterRecord } from '#queue';
import { type Key, type Position, formatPosition } from '#record';
import type { Engine } from '../engine.ts';
import { keepCopy } from '../evidence.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';
import type { KeyState } from './key-state.ts';
import { isOutcome } from './letters.ts';

/** Letters of the live epoch, and outcomes that came in it. */
export const deadFileName = 'dead.jsonl';
export const retiredPattern: RegExp = /^dead\.[A-Za-z0-9_-]{1,64}\.jsonl$/;

export function isLetterFile(name: string): boolean {
  return name === deadFileName || retiredPattern.test(name);
}

/** Letters of an epoch that has ended, and their outcomes. */
export function retiredFileName(epoch: string): string {
  return `dead.${epoch}.jsonl`;
}

/** Whether the key has letters on disk at all: a look that costs no reading. */
export async function hasDeadFile(engine: Engine, key: Key): Promise<boolean> {
  const path = join(engine.files.folderOf(key), deadFileName);
  return (await engine.options.disk.stat(path)) !== undefined;
}

type Line = DeadLine | OutcomeLine;

export interface LetterFile {
  readonly path: string;
  readonly lines: readonly Line[];
  /** Places of lines that are no letter and no outcome. */
  readonly unparsed: readonly string[];
}

/** One file of letters. A line that cannot be read is kept and skipped: it never raises out of the drain (ING-414). */
export async function readLetterFile(engine: Engine, key: Key, name: string): Promise<LetterFile> {
  const path = join(engine.files.folderOf(key), name);
  const bytes = (await engine.options.disk.readFile(path)) ?? new Uint8Array(0);
  const lines: Line[] = [];
  const unparsed: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(0x0a, at);
    const end = found < 0 ? bytes.length : found;
    const line = end > at ? parseLetterLine(bytes.subarray(at, end)) : undefined;
    if (line !== undefined) lines.push(line);
    else if (end > at) unparsed.push(`bytes ${at} to ${end}`);
    at = end + 1;
  }
  return { path, lines, unparsed };
}

/** Newest line that this program reads. */
const lineVersion = 1;

/** Undefined for bytes that are no line of a dead-letter file, and for a line of a newer version: half of it would mislead. */
export function parseLetterLine(bytes: Uint8Array): Line | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value = JSON.parse(text) as Line | null;
    if (value === null || typeof value !== 'object' || typeof value.id !== 'string')
      return undefined;
    const version: number = value.v;
    return version > lineVersion ? undefined : value;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Lines of the live file; damage in it is told once and not at every read. */
export async function readLetterLines(engine: Engine, state: KeyState): Promise<readonly Line[]> {
  const { path, lines, unparsed } = await readLetterFile(engine, state.key, deadFileName);
  if (unparsed.length > state.unparsedLetters)
    evidenceKept.publish(() => ({
      path,
      reason: `${unparsed.slice(0, 10).join(', ')} are no dead letter`,
    }));
  state.unparsedLetters = unparsed.length;
  return lines;
}

async function readRetiredLines(engine: Engine, key: Key): Promise<readonly Line[]> {
  const names = (await engine.options.disk.readDirectory(engine.files.folderOf(key)))
    .map(({ name }) => name)
    .filter((name) => retiredPattern.test(name));
  const lines: Line[] = [];
  for (const name of names) lines.push(...(await readLetterFile(engine, key, name)).lines);
  return lines;
}

/**
 * All letters of a key with their outcome, oldest first: of the epochs that have ended, of the live file, and what it does not hold yet. Written
 * twice counts once (ING-718). Without a state the key has no live epoch.
 */
export async function readLetters(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
): Promise<DeadLetterRecord[]> {
  const lines = [
    ...(await readRetiredLines(engine, key)),
    ...(await readLetterFile(engine, key, deadFileName)).lines,
    ...(state?.newDead ?? []),
  ];
  const letters = new Map<string, DeadLine>();
  const outcomes = new Map<string, OutcomeLine>();
  for (const line of lines) {
    if (isOutcome(line)) outcomes.set(line.id, outcomes.get(line.id) ?? line);
    else if (!letters.has(line.id)) letters.set(line.id, line);
  }
  const live = state?.isFinalising === true ? undefined : state?.epoch;
  return [...letters.values()]
    .toSorted((a, b) => a.ordinal - b.ordinal || a.pos_start - b.pos_start)
    .map((line) => letterOf(key, line, outcomes.get(line.id), line.epoch !== live));
}

function letterOf(
  key: Key,
  line: DeadLine,
  outcome: OutcomeLine | undefined,
  isRetired: boolean,
): DeadLetterRecord {
  const { ordinal, epoch } = line;
  const payload =
    line.payload === undefined
      ? Buffer.from(line.payload_b64 ?? '', 'base64')
      : Buffer.from(line.payload, 'utf8');
  return {
    id: line.id,
    key,
    at: formatPosition({ ordinal, epoch, offset: line.pos_start }),
    after: formatPosition({ ordinal, epoch, offset: line.pos_end }),
    epoch,
    ts: line.ts,
    sha256: line.sha256,
    attempts: line.attempts,
    error: line.error,
    ...(line.event_id === undefined ? {} : { eventId: line.event_id }),
    ...(line.records === undefined ? {} : { records: line.records }),
    payload,
    isRetired,
    outcome: outcomeOf(outcome),
  };
}

function outcomeOf(outcome: OutcomeLine | undefined): DeadLetterRecord['outcome'] {
  if (outcome === undefined) return { kind: 'live' };
  const { ts } = outcome;
  return outcome.kind === 'requeued'
    ? { kind: 'requeued', ts, position: outcome.requeue_pos as Position }
    : { kind: 'discarded', ts, by: outcome.by };
}

/** Brings the live file up to the state. Returns how many lines it has taken over. */
export async function writeDeadFile(engine: Engine, state: KeyState): Promise<number> {
  const lines = [...state.newDead];
  await appendLetterLines(engine, state.key, deadFileName, lines);
  return lines.length;
}

/**
 * What is there stays byte for byte, lines that it does not have yet follow. Replaced as a whole, so that a sync that fails leaves nothing in the
 * cache that the next one would take for durable.
 */
export async function appendLetterLines(
  engine: Engine,
  key: Key,
  name: string,
  lines: readonly Line[],
): Promise<void> {
  if (lines.length === 0) return;
  const { path, lines: there } = await readLetterFile(engine, key, name);
  const known = new Set(there.map(nameOf));
  const fresh = lines.filter((line) => {
    const isFresh = !known.has(nameOf(line));
    known.add(nameOf(line));
    return isFresh;
  });
  if (fresh.length === 0) return;
  const { disk, names } = engine.options;
  const bytes = Buffer.from((await disk.readFile(path)) ?? []);
  // A last line without its end stays a line of its own.
  const end = bytes.length > 0 && bytes.at(-1) !== 0x0a ? '\n' : '';
  const text = fresh.map((line) => `${JSON.stringify(line)}\n`).join('');
  await atomicReplace(disk, path, Buffer.concat([bytes, Buffer.from(end + text, 'utf8')]), names);
}

/** Of two letters of one place, or two outcomes of one letter and kind, the first counts (ING-718). */
function nameOf(line: Line): string {
  return `${isOutcome(line) ? line.kind : 'letter'} ${line.id}`;
}

/** Takes a file away whose letters are in others; lines of it that nobody could read stay as evidence. Its folder is not synced yet. */
export async function removeLetterFile(
  engine: Engine,
  key: Key,
  { path, unparsed }: LetterFile,
): Promise<void> {
  const { options } = engine;
  if ((await options.disk.stat(path)) === undefined) return;
  const reason = `${unparsed.join(', ')} are no dead letters of ${key}`;
  if (unparsed.length > 0) await keepCopy(options, path, 'corrupt', reason);
  await options.disk.unlink(path);
}

/** Records in the dead letters that the files of a key hold, those in memory too. */
export async function liveLetterRecords(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
): Promise<number> {
  const letters = await readLetters(engine, key, state);
  return letters
    .filter(({ outcome }) => outcome.kind === 'live')
    .reduce((sum, { records = 1 }) => sum + records, 0);
}
