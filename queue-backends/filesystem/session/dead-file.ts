import { join } from 'node:path';
import { atomicReplace } from '#disk';
import { evidenceKept } from '#signals';
import type { DeadLetterRecord } from '#queue';
import type { Key, Position } from '#record';
import type { Engine } from '../engine.ts';
import { type KeyState, positionOf } from './key-state.ts';
import { isOutcome } from './letters.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';

export const deadFileName = 'dead.jsonl';

function deadFilePath(engine: Engine, state: KeyState): string {
  return join(engine.files.folderOf(state.key), deadFileName);
}

/** Whether the key has letters on disk at all: a look that costs no reading. */
export async function hasDeadFile(engine: Engine, key: Key): Promise<boolean> {
  const path = join(engine.files.folderOf(key), deadFileName);
  return (await engine.options.disk.stat(path)) !== undefined;
}

/** Lines of the file. One that cannot be read is kept, told and skipped: it never raises out of the drain (ING-414). */
export async function readLetterLines(
  engine: Engine,
  state: KeyState,
): Promise<(DeadLine | OutcomeLine)[]> {
  const path = deadFilePath(engine, state);
  const bytes = await engine.options.disk.readFile(path);
  if (bytes === undefined) return [];
  const lines: (DeadLine | OutcomeLine)[] = [];
  const unparsed: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(0x0a, at);
    const end = found < 0 ? bytes.length : found;
    if (end > at) {
      const line = parseLetterLine(bytes.subarray(at, end));
      if (line === undefined) unparsed.push(`bytes ${at} to ${end}`);
      else lines.push(line);
    }
    at = end + 1;
  }
  // Told once and not at every read.
  if (unparsed.length > state.unparsedLetters)
    evidenceKept.publish(() => ({
      path,
      reason: `${unparsed.slice(0, 10).join(', ')} are no dead letter`,
    }));
  state.unparsedLetters = unparsed.length;
  return lines;
}

/** Newest line that this program reads. */
const lineVersion = 1;

/** Undefined for bytes that are no line of a dead-letter file, and for a line of a newer version: half of it would mislead. */
export function parseLetterLine(bytes: Uint8Array): DeadLine | OutcomeLine | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value = JSON.parse(text) as DeadLine | OutcomeLine | null;
    if (value === null || typeof value !== 'object' || typeof value.id !== 'string')
      return undefined;
    const version: number = value.v;
    return version > lineVersion ? undefined : value;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** All letters of the live epoch with their outcome, from the file and from what it does not hold yet; written twice counts once (ING-718). */
export async function readLetters(engine: Engine, state: KeyState): Promise<DeadLetterRecord[]> {
  const lines = [...(await readLetterLines(engine, state)), ...state.newDead];
  const letters = new Map<string, DeadLine>();
  const outcomes = new Map<string, OutcomeLine>();
  for (const line of lines) {
    if (isOutcome(line)) outcomes.set(line.id, outcomes.get(line.id) ?? line);
    else if (!letters.has(line.id)) letters.set(line.id, line);
  }
  return [...letters.values()].map((line) => letterOf(state, line, outcomes.get(line.id)));
}

function letterOf(
  state: KeyState,
  line: DeadLine,
  outcome: OutcomeLine | undefined,
): DeadLetterRecord {
  const payload =
    line.payload === undefined
      ? Buffer.from(line.payload_b64 ?? '', 'base64')
      : Buffer.from(line.payload, 'utf8');
  return {
    id: line.id,
    key: state.key,
    at: positionOf(state, line.pos_start),
    after: positionOf(state, line.pos_end),
    epoch: line.epoch,
    ts: line.ts,
    sha256: line.sha256,
    attempts: line.attempts,
    error: line.error,
    ...(line.event_id === undefined ? {} : { eventId: line.event_id }),
    ...(line.records === undefined ? {} : { records: line.records }),
    payload,
    isRetired: false,
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

/**
 * Brings the file up to the state: what is there stays byte for byte, new lines follow. Replaced as a whole, so that a sync that fails leaves
 * nothing in the cache that the next one would take for durable. Returns how many lines it has taken over.
 */
export async function writeDeadFile(engine: Engine, state: KeyState): Promise<number> {
  const lines = [...state.newDead];
  if (lines.length === 0) return 0;
  const nameOf = (line: DeadLine | OutcomeLine): string =>
    `${isOutcome(line) ? line.kind : 'letter'} ${line.id}`;
  const known = new Set((await readLetterLines(engine, state)).map(nameOf));
  const fresh = lines.filter((line) => !known.has(nameOf(line)));
  if (fresh.length > 0) {
    const { disk, names } = engine.options;
    const path = deadFilePath(engine, state);
    const there = Buffer.from((await disk.readFile(path)) ?? []);
    // A last line without its end stays a line of its own.
    const end = there.length > 0 && there.at(-1) !== 0x0a ? '\n' : '';
    const text = fresh.map((line) => `${JSON.stringify(line)}\n`).join('');
    await atomicReplace(disk, path, Buffer.concat([there, Buffer.from(end + text, 'utf8')]), names);
  }
  return lines.length;
}
