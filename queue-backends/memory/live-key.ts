import type { Key } from '#record';
import { endOf, type StoredKey } from './stored-key.ts';

/** A frame on its way, for those who must know its outcome first; never rejects. */
export interface Flight {
  readonly settled: Promise<void>;
}

/** What the process has in hand for a key beside the durable part: reservations of frames on their way. */
export interface LiveKey {
  readonly key: Key;
  /** Epoch of the key, or the one that its first frame will open. */
  readonly epoch: string;
  nextOffset: number;
  stored: StoredKey | undefined;
  /** Who will own the key when the first frame that names somebody is durable. */
  claim: { readonly owner: string | null; readonly flight: Flight } | undefined;
  /** Event ids whose record is on its way (ING-520). */
  readonly ids: Map<string, Flight>;
  /** Letters whose outcome is on its way (ING-714). */
  readonly settling: Map<string, Flight>;
}

/** After a failure positions go on from the durable end: no hole and no ghost (QFS-03). */
export function takeBack(live: LiveKey): void {
  live.nextOffset = live.stored === undefined ? 0 : endOf(live.stored);
}

export function isIdle(live: LiveKey): boolean {
  return live.claim === undefined && live.ids.size === 0 && live.settling.size === 0;
}
