import type { KeyFilter } from '../append/id-filter.ts';
import type { AppliedMark } from '#queue';
import { type Cursor, type Key, type Position, formatPosition } from '#record';
import type { DedupEntry, KeyTotals } from '#state';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';
import type { TailLine, TailMemory } from './tail-memory.ts';

export interface Quarantine {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

/** A frame on its way. */
export interface Flight {
  /** Resolves true when the frame became durable, false when it failed; never rejects. Made for who asks: nearly nobody does. */
  readonly settled: Promise<boolean>;
}

/** An event id whose record is not in the state store's index yet. */
export interface RecentId {
  readonly entry: DedupEntry;
  /** Set while the frame is on its way (ING-520). */
  readonly inFlight: Flight | undefined;
}

/** Bytes of the log that an operator has passed over: one dead letter, and no line of them is read (ING-412). */
export interface PassedRange {
  readonly start: number;
  readonly end: number;
  readonly records: number;
}

/** A dead record that the committed position has not passed (ING-702). */
export interface DeadAhead {
  readonly end: number;
  /** 1, or those that a passed-over range held. */
  readonly records: number;
}

/** The last way out of a quarantine that was taken, so that one asked for again is told what it did (C25). */
export interface LastClear {
  readonly operation: string;
  readonly mode: string;
  readonly by: string;
  readonly ts: string;
}

/** The last record before a log generation that the graph held; the files of the first versions kept its digest alone. */
export interface AppliedBefore {
  readonly position: Position | null;
  readonly sha256: string;
}

export type MutableTotals = { -readonly [Member in keyof KeyTotals]: KeyTotals[Member] };

/** Frames up to this one, in the order of the journal, are in an offset record. */
export interface CountedFrame {
  readonly tenure: number;
  readonly sequence: number;
}

/**
 * What the process knows of one key. It changes in two ways only: by a frame that became durable, and by reservations of frames on their way
 * (`nextOffset`, `opening`, `claiming`, `commitInFlight`, ids and letters in flight), which a failure takes back.
 */
export interface KeyState {
  readonly key: Key;
  readonly memory: TailMemory;
  workspace: string;
  session: string;
  owner: string | null;
  epoch: string;
  ordinal: number;
  gen: number;
  base: number;
  /** Logical offset that is committed. */
  committed: number;
  committedRecords: number;
  /** Durable end of the log. */
  end: number;
  endRecords: number;
  /** End with everything handed over. */
  nextOffset: number;
  /** Up to here the session file has been written. */
  filledTo: number;
  /** Up to here the session file was synced, as its offset record says. */
  syncedTo: number;
  /** A sync of the session file failed: what came after `syncedTo` must be written anew (QFS-11). */
  isLogSuspect: boolean;
  /** The epoch's opening frame is durable. */
  isOpen: boolean;
  /** The epoch has ended: what is left of its files goes before anything else is done with the key (ING-802). */
  isFinalising: boolean;
  /** Files of other log generations may be in the folder: they go once the offset record names this one (ING-814). */
  hasOtherGenerations: boolean;
  /** Set while the epoch's opening frame is on its way. */
  opening: Flight | undefined;
  /** Set while the frame that gives an open key its owner is on its way. */
  claiming: Flight | undefined;
  /** Session folder with generation file and offset record exists. */
  hasFolder: boolean;
  isFolderSynced: boolean;
  /** The folder may have names that are in the cache alone: a process was killed, or a sync of the folder failed. */
  areNamesUncertain: boolean;
  /** False while the offset record on disk is damaged: it is evidence, and nobody writes over it. */
  hasSoundRecord: boolean;
  /** The offset record on disk is damaged, and frames said all that it did: the next one goes over it. */
  isRecordRetold: boolean;
  cursor: Cursor | null;
  cursorText: string;
  /** Cursor at `base`, and the last record before it that the graph held: what the generation file keeps (ING-815). */
  baseCursor: Cursor | null;
  before: AppliedBefore | null;
  seq: number;
  applied: AppliedMark | null;
  /** As of the durable frames. */
  readonly totals: MutableTotals;
  /** Those that the epoch began with. */
  baseTotals: KeyTotals;
  /** Duplicates that were answered and that no frame carries yet. */
  pendingDuplicates: number;
  /** Durable lines, oldest first: at least those that the session file does not hold yet. */
  tail: TailLine[];
  tailBytes: number;
  readonly recent: Map<string, RecentId>;
  /** Set where every id of the key that is in the index was put there by this process. */
  ids: KeyFilter | undefined;
  /** Up to here the state store's index has read the log. */
  indexedThrough: number;
  /** Up to here the index keeps the content digests of the records as well (ING-517). */
  digestedThrough: number;
  /** Ends of the records of the last batch read, in order: what a commit counts by. */
  boundaries: number[];
  commitInFlight: Promise<void> | undefined;
  quarantine: Quarantine | null;
  /** The folder holds a marker, or may. */
  hasMarker: boolean;
  /** Damage that recovery has met and not told yet: a later frame may make it good (C9). */
  fault: { readonly code: string; readonly message: string } | undefined;
  /** Ranges of this log that were passed over, in order. */
  ranges: readonly PassedRange[];
  /** By where they start. Not empty: reads stop before the first of them and reconcile (ING-702, ING-706). The books count them as dead, not as pending. */
  deadAhead: ReadonlyMap<number, DeadAhead>;
  /** The position was set by a reset or an operator, and nothing was read since: what was read before may not be committed. */
  isSetAnew: boolean;
  /** The next offset record may go backwards (QFS-12). */
  mayGoBack: boolean;
  lastClear: LastClear | null;
  /** Lines of the dead-letter file that could not be read when it was read last (ING-414). */
  unparsedLetters: number;
  /** Letters and outcomes that the dead-letter file does not hold yet. */
  newDead: (DeadLine | OutcomeLine)[];
  /** Where the letters of this epoch begin, settled ones too; undefined until the first commit with a letter has asked. */
  letterStarts: Set<number> | undefined;
  /** Letters whose outcome is on its way: a second one waits for it (ING-714). */
  readonly settling: Map<string, Flight>;
  /** What the offset record on disk contains. */
  counted: CountedFrame;
  /** Frames at or below this sequence are in the files or the row from which the key was read without a sound offset record. */
  floor: number;
  /** Rises with everything that a checkpoint must write; equal to `savedVersion` when all of it is in the files. */
  version: number;
  savedVersion: number;
  /** The last checkpoint could not write it: its frames are carried along in the journal. */
  isStuck: boolean;
  /** Accept time of the oldest record that waits, epoch ms. */
  oldestMs: number | null;
  lastUsed: number;
}

export const zeroTotals: KeyTotals = {
  accepted: 0,
  applied: 0,
  dead: 0,
  discarded: 0,
  duplicates: 0,
};

/** Who it is of, until its first frame or its files tell. */
const untold = { workspace: '', session: '', owner: null } as const;

export function newKeyState(
  key: Key,
  epoch: string,
  ordinal: number,
  memory: TailMemory,
): KeyState {
  return {
    key,
    memory,
    ...untold,
    epoch,
    ordinal,
    gen: 0,
    base: 0,
    committed: 0,
    committedRecords: 0,
    end: 0,
    endRecords: 0,
    nextOffset: 0,
    filledTo: 0,
    syncedTo: 0,
    isLogSuspect: false,
    isOpen: false,
    opening: undefined,
    claiming: undefined,
    hasFolder: false,
    isFolderSynced: false,
    areNamesUncertain: false,
    hasSoundRecord: true,
    isRecordRetold: false,
    cursor: null,
    cursorText: 'null',
    baseCursor: null,
    before: null,
    isFinalising: false,
    hasOtherGenerations: false,
    digestedThrough: 0,
    seq: 0,
    applied: null,
    totals: { ...zeroTotals },
    baseTotals: zeroTotals,
    pendingDuplicates: 0,
    tail: [],
    tailBytes: 0,
    recent: new Map(),
    ids: undefined,
    indexedThrough: 0,
    boundaries: [],
    commitInFlight: undefined,
    quarantine: null,
    hasMarker: false,
    fault: undefined,
    ranges: [],
    deadAhead: new Map(),
    isSetAnew: false,
    mayGoBack: false,
    lastClear: null,
    unparsedLetters: 0,
    newDead: [],
    letterStarts: undefined,
    settling: new Map(),
    counted: { tenure: 0, sequence: 0 },
    floor: 0,
    version: 0,
    savedVersion: 0,
    isStuck: false,
    oldestMs: null,
    lastUsed: 0,
  };
}

export function positionOf(state: KeyState, offset: number): Position {
  return formatPosition({ ordinal: state.ordinal, epoch: state.epoch, offset });
}

/** Records that wait for the drain: those behind the committed position that are not dead already. */
export function pendingRecords(state: KeyState): number {
  let waiting = state.endRecords - state.committedRecords;
  for (const { records } of state.deadAhead.values()) waiting -= records;
  return waiting;
}

/** Forgets the dead records that the committed position has passed. */
export function passDead(state: KeyState): void {
  if (state.deadAhead.size === 0) return;
  state.deadAhead = new Map([...state.deadAhead].filter(([start]) => start >= state.committed));
}

/** Where reading has to stop: at the first dead record that is not passed yet. */
export function readLimit(state: KeyState): number {
  return Math.min(Number.POSITIVE_INFINITY, ...state.deadAhead.keys());
}

export function backlogBytes(state: KeyState): number {
  // A damaged record may stand beyond its log.
  return Math.max(0, state.end - state.committed);
}

/** Whether an offset record already contains what a frame says: a later tenure may begin again at a lower sequence. */
export function isCounted(state: KeyState, tenure: number, sequence: number): boolean {
  const { counted } = state;
  return tenure === counted.tenure ? sequence <= counted.sequence : tenure < counted.tenure;
}

/** Something of the key must be written by the next checkpoint. */
export function dirty(state: KeyState): void {
  state.version += 1;
}

export function isDirty(state: KeyState): boolean {
  return state.version !== state.savedVersion;
}

/** Everything that was handed over is durable and committed, and nothing is on its way. */
export function isDrained(state: KeyState): boolean {
  return (
    state.committed === state.end &&
    state.nextOffset === state.end &&
    state.opening === undefined &&
    state.commitInFlight === undefined &&
    state.settling.size === 0
  );
}

/** Its session has ended, and so may its epoch (ING-807). */
export function isEnding(state: KeyState): boolean {
  return state.isOpen && state.cursor?.terminal_seen === true && state.committed === state.end;
}

/** Nothing of it would be missed: drained, in its files, and on nobody's mind. */
export function isEvictable(state: KeyState): boolean {
  return (
    state.recent.size === 0 &&
    state.settling.size === 0 &&
    state.commitInFlight === undefined &&
    state.opening === undefined &&
    state.nextOffset === state.end &&
    state.committed === state.end &&
    state.filledTo === state.end &&
    state.newDead.length === 0 &&
    state.pendingDuplicates === 0 &&
    !isDirty(state) &&
    !state.isStuck &&
    !state.isFinalising &&
    state.quarantine === null
  );
}
