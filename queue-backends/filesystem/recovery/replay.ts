import type { KeyGuard } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import type { FrameKind } from '../journal/frame.ts';
import type { Scan } from './recovery-scan.ts';
import { type KeyState, dirty, isCounted } from '../session/key-state.ts';

/** What applying one frame needs to know of it. */
export interface Replayed {
  readonly sequence: number;
  readonly tenure: number;
  readonly kind: FrameKind;
  readonly payload: Uint8Array;
  /** Frames at or below the mark: the root's totals hold them already, and only these keys still need them (QFS-11). */
  readonly copiedFor: ReadonlySet<Key> | undefined;
}

/** What recovery remembers of the keys that it has met. */
export interface Replay {
  readonly engine: Engine;
  /** Where the journal begins to tell a key's log: from there on the file is written anew. */
  readonly toldFrom: Map<Key, number>;
  /** Keys whose position the journal tells, although their offset record is damaged (C9). */
  readonly retold: Set<Key>;
  /** Keys whose books must be counted from the log itself. */
  readonly recount: Set<Key>;
  /** Keys that a frame after the mark names: the process that ended may have been writing their folders. */
  readonly met: Set<Key>;
  readonly scan: Scan;
  /** The journal was lost and there is no mark, it is damaged, or session files know more than it: every folder was read. */
  isRebuilt: boolean;
  /** Last frame that was applied to a key: of two equal ones one counts. */
  readonly appliedTo: Map<Key, number>;
  /** Epochs that end further on in the journal, as `<key> <epoch>`: their files are gone if the process came so far. */
  readonly ended: Set<string>;
  frames: number;
}

export function underLock<T>(
  replay: Replay,
  key: Key,
  fn: (guard: KeyGuard) => Promise<T>,
): Promise<T> {
  return replay.engine.locks.with(key, fn, undefined, 'recovery');
}

/** Whether the key still needs the frame: not in its record, not applied a moment ago from a copy. */
export function takes(replay: Replay, state: KeyState, frame: Replayed): boolean {
  const last = replay.appliedTo.get(state.key) ?? 0;
  return frame.sequence > last && !isCounted(state, frame.tenure, frame.sequence);
}

/**
 * What a frame after the mark speaks of is written again by the next checkpoint, also when its files hold it already: the process that wrote
 * them may have been killed before it synced them.
 */
export function meet(replay: Replay, state: KeyState): void {
  replay.met.add(state.key);
  dirty(state);
}
