import type { Chance, Clock } from '#base';
import type { FencePermit } from '#fence';
import { draining, type KeyLocks, type QueueLimits } from '#queue';
import type { Key } from '#record';
import type { FrameLine } from './frame-line.ts';
import { isIdle, type LiveKey } from './live-key.ts';
import type { MemoryStore } from './memory-store.ts';
import { assertCurrent } from './memory-store.ts';
import { endOf } from './stored-key.ts';

/** What the operations of one open queue share. */
export interface Engine {
  readonly store: MemoryStore;
  readonly permit: FencePermit;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly limits: QueueLimits;
  readonly locks: KeyLocks;
  readonly line: FrameLine;
  /** Keys with something on its way; the rest is in the store. */
  readonly live: Map<Key, LiveKey>;
  inFlightBytes: number;
  isClosing: boolean;
}

/** DRAINING once the queue closes, a fenced error once another writer has it. */
export function assertWriter(engine: Engine): void {
  if (engine.isClosing) throw draining({ what: 'the queue' });
  assertCurrent(engine.store, engine.permit);
}

export function liveOf(engine: Engine, key: Key): LiveKey {
  const known = engine.live.get(key);
  if (known !== undefined) return known;
  const stored = engine.store.keys.get(key);
  const made: LiveKey = {
    key,
    epoch: stored?.epoch ?? engine.chance.uuid(),
    nextOffset: stored === undefined ? 0 : endOf(stored),
    stored,
    claim: undefined,
    ids: new Map(),
    settling: new Map(),
  };
  engine.live.set(key, made);
  return made;
}

/** Forgets the keys of which nothing is on its way. */
export function forgetIdle(engine: Engine): void {
  for (const [key, live] of engine.live) {
    const end = live.stored === undefined ? 0 : endOf(live.stored);
    if (isIdle(live) && live.nextOffset === end) engine.live.delete(key);
  }
}
