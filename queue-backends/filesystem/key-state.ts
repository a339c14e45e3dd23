import type { AppliedMark } from '#queue';
import { type Cursor, type Key, type Position, formatPosition } from '#record';
import type { DedupEntry, KeyTotals } from '#state';
import type { DeadLine, OutcomeLine } from './payloads.ts';

export interface Quarantine {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

/** A stored line that is still in memory. */
export interface TailLine {
  readonly offset: number;
  /** The stored form, line break included. */
  readonly bytes: Uint8Array;
}

/** An event id whose record is not in the state store's index yet. */
export interface RecentId {
  readonly entry: DedupEntry;
  /** Set while the frame is on its way: resolves true when the record became durable, false when it failed (ING-520). */
  readonly inFlight?: Promise<boolean>;
}

export interface MutableTotals {
  accepted: number;
  applied: number;
  dead: number;
  discarded: number;
  duplicates: number;
}

/**
 * What the process knows of one key. It changes in two ways only: by a frame that became durable, and by reservations of frames on their way
 * (`nextOffset`, `commitInFlight`, in-flight ids), which a failure takes back.
 */
export interface KeyState {
  readonly key: Key;
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
  /** The epoch's opening frame is durable. */
  isOpen: boolean;
  isOpening: boolean;
  /** Session folder with its first generation file exists. */
  hasFolder: boolean;
  isFolderSynced: boolean;
  cursor: Cursor | null;
  cursorText: string;
  /** Cursor that the epoch began with: what the generation file keeps (ING-815). */
  baseCursor: Cursor | null;
  seq: number;
  applied: AppliedMark | null;
  readonly totals: MutableTotals;
  pendingDuplicates: number;
  /** Durable lines, oldest first: at least those that the session file does not hold yet. */
  tail: TailLine[];
  tailBytes: number;
  readonly recent: Map<string, RecentId>;
  /** Ends of the records of the last batches read, in order: what a commit counts by. */
  boundaries: number[];
  commitInFlight: Promise<void> | undefined;
  quarantine: Quarantine | null;
  /** Live letters and outcomes since the last write of the dead-letter file. */
  newDead: (DeadLine | OutcomeLine)[];
  /** Last frame that touched the key, and the last that a checkpoint has put into its files. */
  lastFrame: number;
  checkpointedFrame: number;
  /** Accept time of the oldest record that waits, epoch ms. */
  oldestMs: number | null;
  /** Holders that must find the state in memory as they left it. */
  readonly pins: { count: number };
  /** Dead letters whose requeue is on its way: a second one is refused (ING-714). */
  readonly settling: Set<string>;
  lastUsed: number;
}

export const zeroTotals: KeyTotals = {
  accepted: 0,
  applied: 0,
  dead: 0,
  discarded: 0,
  duplicates: 0,
};

export function newKeyState(key: Key, epoch: string, ordinal: number): KeyState {
  return {
    key,
    workspace: '',
    session: '',
    owner: null,
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
    isOpen: false,
    isOpening: false,
    hasFolder: false,
    isFolderSynced: false,
    cursor: null,
    cursorText: 'null',
    baseCursor: null,
    seq: 0,
    applied: null,
    totals: { ...zeroTotals },
    pendingDuplicates: 0,
    tail: [],
    tailBytes: 0,
    recent: new Map(),
    boundaries: [],
    commitInFlight: undefined,
    quarantine: null,
    newDead: [],
    lastFrame: 0,
    checkpointedFrame: 0,
    oldestMs: null,
    pins: { count: 0 },
    settling: new Set(),
    lastUsed: 0,
  };
}

export function positionOf(state: KeyState, offset: number): Position {
  return formatPosition({ ordinal: state.ordinal, epoch: state.epoch, offset });
}

export function pendingRecords(state: KeyState): number {
  return state.endRecords - state.committedRecords;
}

export function backlogBytes(state: KeyState): number {
  return state.end - state.committed;
}

/** Nothing of it would be missed: drained, in its files, and on nobody's mind. */
export function isEvictable(state: KeyState): boolean {
  return (
    state.pins.count === 0 &&
    state.recent.size === 0 &&
    state.commitInFlight === undefined &&
    state.nextOffset === state.end &&
    state.committed === state.end &&
    state.filledTo === state.end &&
    state.newDead.length === 0 &&
    state.pendingDuplicates === 0 &&
    state.lastFrame === state.checkpointedFrame &&
    state.quarantine === null
  );
}
