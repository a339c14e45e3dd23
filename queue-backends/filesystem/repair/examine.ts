import { isMillraceError, messageOf } from '#base';
import type { AppliedMark, CursorFold, DamagedBytes } from '#queue';
import { type Cursor, emptyCursor, parseCursor } from '#record';
import type { Engine } from '../engine.ts';
import { readLetterLines } from '../session/dead-file.ts';
import { type KeyState, pendingRecords } from '../session/key-state.ts';
import { isOutcome } from '../session/letters.ts';
import type { GenerationFile } from '../session/generation-file.ts';
import type { OffsetRecord } from '../session/offset-record.ts';
import { isBoundary } from '../session/read-record.ts';
import { offsetIn } from './set-position.ts';
import { countBreaks, scanAhead } from './scan-log.ts';

/** A position from which the drain can go on, and what is known there. */
export interface Standing {
  readonly offset: number;
  /** Undefined: it must be folded anew from the generation file. */
  readonly cursor: Cursor | undefined;
  readonly applied: AppliedMark | null;
  readonly seq: number;
  /** The books in memory speak of this very position. */
  readonly isOfBooks: boolean;
}

/** What one look at a stopped key has found. */
export interface Examination {
  /** Where the key stands by its own record; undefined when that is damaged or does not fit the log. */
  readonly standing: Standing | undefined;
  readonly recordFault: string | null;
  /** Where it stands at least: by its record, else by its row in the state store, else where its log begins. */
  readonly fallback: Standing;
  readonly generation: Pick<GenerationFile, 'cursor'> | undefined;
  /** What lies behind the standing, or the fallback. */
  readonly ahead: Stretch;
  /** Starts of dead records of the epoch, whatever became of them: they left no trace in the graph. */
  readonly dead: ReadonlySet<number>;
}

/** What a stretch of a log holds. */
export interface Stretch {
  /** Sound records, those that are dead already left out. */
  readonly waiting: number;
  /** All sound records. */
  readonly sound: number;
  /** The first of them; the number is in `damageCount`. */
  readonly damage: readonly DamagedBytes[];
  readonly damageCount: number;
  /** How many records damaged ranges may have held, by their line breaks. */
  readonly breaks: number;
}

const damageShownMax = 16;
/** Codes whose offset record is looked at again: it may have been put right by hand, or by another program. */
const recordFaults: ReadonlySet<string> = new Set([
  'OFFSET_CORRUPT',
  'OFFSET_UNSUPPORTED',
  'OFFSET_BEYOND_LOG',
  'OFFSET_MISALIGNED',
  'FOREIGN_RECORD',
]);

/** Reads what is on disk of a stopped key now, and the log behind where it stands; changes nothing. */
export async function examine(engine: Engine, state: KeyState): Promise<Examination> {
  const found = await standingOf(engine, state);
  const dead = await deadStarts(engine, state);
  const standing = typeof found === 'string' ? undefined : found;
  const fallback = standing ?? (await fallbackOf(engine, state));
  const generation =
    (await engine.files.readGeneration(state.key, state.gen)) ?? firstGeneration(state);
  return {
    standing,
    recordFault: typeof found === 'string' ? found : null,
    fallback,
    generation,
    ahead: await survey(engine, state, dead, fallback.offset, state.end),
    dead,
  };
}

/** The generation file of a key's first epoch says nothing that is not known without it. */
function firstGeneration(state: KeyState): Pick<GenerationFile, 'cursor'> | undefined {
  return isFirstGeneration(state) ? { cursor: null } : undefined;
}

export function isFirstGeneration(state: KeyState): boolean {
  return state.ordinal === 0 && state.gen === 0 && state.base === 0;
}

/** A text says why there is none. */
async function standingOf(engine: Engine, state: KeyState): Promise<Standing | string> {
  const code = state.quarantine?.code ?? '';
  if (state.hasSoundRecord && !recordFaults.has(code)) return inMemory(state);
  let record: OffsetRecord | undefined;
  try {
    record = await engine.records.read(state.key, engine.files.folderOf(state.key));
  } catch (error) {
    if (!isMillraceError(error) || error.disposition !== 'corrupt') throw error;
    return messageOf(error);
  }
  if (record === undefined) return 'there is no offset record';
  return standingIn(engine, state, record);
}

function inMemory(state: KeyState): Standing {
  const parsed = state.cursor === null ? undefined : parseCursor(state.cursor);
  const isFaulty = parsed !== undefined && parsed.cursor === undefined;
  const isMissing = state.cursor === null && state.committed > state.base;
  return {
    offset: state.committed,
    cursor: isFaulty || isMissing ? undefined : (state.cursor ?? emptyCursor()),
    applied: state.applied,
    seq: state.seq,
    isOfBooks: true,
  };
}

/** A record that can be read, as a position of this very log; a text says why it is none. */
export async function standingIn(
  engine: Engine,
  state: KeyState,
  record: Pick<OffsetRecord, 'epoch' | 'offset' | 'applied' | 'seq'> & {
    readonly cursor: Cursor | null | undefined;
  },
): Promise<Standing | string> {
  const { epoch, offset, cursor, applied, seq } = record;
  if (epoch !== state.epoch) return `it is of epoch ${epoch}, the log of ${state.epoch}`;
  if (offset < state.base || offset > state.end)
    return `its offset is ${offset}, the log reaches from ${state.base} to ${state.end}`;
  if (!(await isBoundary(engine, state, offset)))
    return `its offset ${offset} is not the end of a record`;
  const isOfBooks = state.hasSoundRecord && offset === state.committed;
  const known = cursor ?? (offset === state.base ? emptyCursor() : undefined);
  return { offset, cursor: known, applied, seq, isOfBooks };
}

/** The row in the state store was written by the same checkpoint as the offset record. */
async function fallbackOf(engine: Engine, state: KeyState): Promise<Standing> {
  const row = engine.options.state.getRow(state.key);
  const offset = offsetIn(state, row?.position);
  const isUsable =
    offset !== undefined &&
    offset >= state.base &&
    offset <= state.end &&
    (await isBoundary(engine, state, offset));
  return {
    offset: isUsable ? offset : state.base,
    cursor: undefined,
    applied: state.applied,
    seq: state.seq,
    isOfBooks: isUsable && !state.hasSoundRecord,
  };
}

/** Reads a stretch of the log to its end, whatever it holds. */
export async function survey(
  engine: Engine,
  state: KeyState,
  dead: ReadonlySet<number>,
  from: number,
  to: number,
): Promise<Stretch> {
  const damage: DamagedBytes[] = [];
  let damageCount = 0;
  let sound = 0;
  let waiting = 0;
  let breaks = 0;
  for await (const piece of scanAhead(engine.files, state, from, to)) {
    if (piece.kind === 'record') {
      sound += 1;
      if (!dead.has(piece.offset)) waiting += 1;
      continue;
    }
    damageCount += 1;
    breaks += await countBreaks(engine.files, state, piece);
    if (damage.length < damageShownMax) damage.push({ from: piece.offset, to: piece.end });
  }
  return { waiting, sound, damage, damageCount, breaks };
}

/** Starts of all dead records of the epoch. */
export async function deadStarts(engine: Engine, state: KeyState): Promise<ReadonlySet<number>> {
  const lines = [...(await readLetterLines(engine, state)), ...state.newDead];
  const starts = lines.flatMap((line) =>
    !isOutcome(line) && line.epoch === state.epoch ? [line.pos_start] : [],
  );
  return new Set(starts);
}

/** Records that wait behind a standing, damaged ones too: as the books have it where they speak of it, else as the log looks. */
export function waitingBehind(state: KeyState, at: Standing, ahead: Stretch): number {
  return at.isOfBooks
    ? Math.max(pendingRecords(state), ahead.waiting)
    : ahead.waiting + ahead.breaks;
}

/**
 * The cursor at an offset: the records from the beginning of the log up to it, folded one after another from the generation file's cursor. Dead
 * records left no trace in the graph, so they leave none here; nothing is sent (ING-412).
 */
export async function foldTo(
  engine: Engine,
  state: KeyState,
  start: Cursor | null,
  offset: number,
  dead: ReadonlySet<number>,
  fold: CursorFold,
): Promise<Cursor> {
  let cursor = start ?? emptyCursor();
  for await (const piece of scanAhead(engine.files, state, state.base, offset))
    if (piece.kind === 'record' && !dead.has(piece.offset))
      cursor = fold(state.key, cursor, piece.raw);
  return cursor;
}
