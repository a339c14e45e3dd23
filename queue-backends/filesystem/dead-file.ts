import { join } from 'node:path';
import { evidenceKept } from '#signals';
import type { DeadLetterRecord } from '#queue';
import type { Position } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, positionOf } from './key-state.ts';
import type { DeadLine, OutcomeLine } from './payloads.ts';

export const deadFileName = 'dead.jsonl';

/** `<key>:<epoch>.<start>`: stable over restarts, and known before the letter is written. */
export function letterIdAt(state: Pick<KeyState, 'key' | 'epoch'>, offset: number): string {
  return `${state.key}:${state.epoch}.${offset}`;
}

function isOutcome(line: DeadLine | OutcomeLine): line is OutcomeLine {
  return 'kind' in line;
}

/** Lines of the file. One that cannot be read is kept, told and skipped: it never raises out of the drain (ING-414). */
async function readFileLines(engine: Engine, state: KeyState): Promise<(DeadLine | OutcomeLine)[]> {
  const path = join(engine.files.folderOf(state.key), deadFileName);
  const bytes = await engine.options.disk.readFile(path);
  if (bytes === undefined) return [];
  const lines: (DeadLine | OutcomeLine)[] = [];
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at);
    const line = bytes.subarray(at, end < 0 ? bytes.length : end);
    at = end < 0 ? bytes.length : end + 1;
    if (line.length === 0) continue;
    try {
      lines.push(JSON.parse(decoder.decode(line)) as DeadLine | OutcomeLine);
    } catch (error) {
      evidenceKept.publish(() => ({
        path,
        reason: `a dead-letter line cannot be read: ${String(error)}`,
      }));
    }
  }
  return lines;
}

/** All letters of the live epoch with their outcome, from the file and from what it does not hold yet; written twice counts once (ING-718). */
export async function readLetters(engine: Engine, state: KeyState): Promise<DeadLetterRecord[]> {
  const lines = [...(await readFileLines(engine, state)), ...state.newDead];
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
    payload,
    isRetired: false,
    outcome:
      outcome === undefined
        ? { kind: 'live' }
        : outcome.kind === 'requeued'
          ? { kind: 'requeued', ts: outcome.ts, position: outcome.requeue_pos as Position }
          : { kind: 'discarded', ts: outcome.ts, by: outcome.by },
  };
}

/** Brings the file up to the state: what is there stays byte for byte, new lines follow, synced. Returns how many lines it wrote. */
export async function writeDeadFile(engine: Engine, state: KeyState): Promise<number> {
  const lines = [...state.newDead];
  if (lines.length === 0) return 0;
  const path = join(engine.files.folderOf(state.key), deadFileName);
  const known = new Set(
    (await readFileLines(engine, state)).map(
      (line) => `${isOutcome(line) ? line.kind : 'letter'} ${line.id}`,
    ),
  );
  const fresh = lines.filter(
    (line) => !known.has(`${isOutcome(line) ? line.kind : 'letter'} ${line.id}`),
  );
  const file = await engine.options.disk.open(path, 'write');
  try {
    const size = await file.size();
    const last = Buffer.alloc(1);
    // A torn last line of a crash is closed, so that it stays a line of its own.
    const needsBreak = size > 0 && (await file.readAt(last, size - 1)) === 1 && last[0] !== 0x0a;
    const text = fresh.map((line) => `${JSON.stringify(line)}\n`).join('');
    if (text !== '')
      await file.writeAt([Buffer.from(needsBreak ? `\n${text}` : text, 'utf8')], size);
    await file.sync();
  } finally {
    await file.close();
  }
  return lines.length;
}
