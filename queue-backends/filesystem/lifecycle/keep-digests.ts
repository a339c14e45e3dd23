import { contentDigest, type Key } from '#record';
import type { Engine } from '../engine.ts';
import { idOf } from '../session/event-id.ts';
import type { KeyState } from '../session/key-state.ts';
import { scanAhead } from '../repair/scan-log.ts';
import { readLines } from '../session/read-lines.ts';
import { recordOfTail } from '../session/read-record.ts';
import { stopOnDamage, withState } from '../with-state.ts';

/** Read at once while others wait for the key. */
const sliceBytes = 1024 * 1024;

/**
 * Before bytes leave the log, the index must know the content that each id given by a sender stands for: a later record of this id is compared
 * with it (ING-517). Records up to `to`, which the session file or the memory holds; visible in the state store when it resolves.
 */
export async function keepDigests(engine: Engine, state: KeyState, to: number): Promise<void> {
  const from = Math.max(state.digestedThrough, state.base);
  const inFile = Math.min(to, state.filledTo);
  if (from < inFile)
    for await (const { offset, raw } of readLines(engine.files, state, from, inFile)) {
      keepDigest(engine, state, offset, raw);
      await engine.indexer.drainIfCrowded();
    }
  for (const line of state.tail)
    if (line.offset >= Math.max(from, inFile) && line.offset < to)
      keepDigest(engine, state, line.offset, recordOfTail(state, line));
  state.digestedThrough = Math.max(state.digestedThrough, to);
  await engine.indexer.drain();
}

/** The same as far as its lines are sound, for a log that is damaged; what a damaged record's id stood for, nobody can say any more. */
export async function keepSoundDigests(engine: Engine, state: KeyState, to: number): Promise<void> {
  const from = Math.max(state.digestedThrough, state.base);
  for await (const piece of scanAhead(engine.files, state, from, to)) {
    if (piece.kind === 'record') keepDigest(engine, state, piece.offset, piece.raw);
    await engine.indexer.drainIfCrowded();
  }
  state.digestedThrough = Math.max(state.digestedThrough, to);
  await engine.indexer.drain();
}

/** The same of a large log in slices, between which others may have the key: what is left for the caller's own hold is short. */
export async function keepDigestsAhead(engine: Engine, key: Key): Promise<void> {
  const slice = (state: KeyState | undefined): Promise<boolean> | boolean =>
    state === undefined || state.quarantine !== null || state.isFinalising
      ? true
      : stopOnDamage(engine, state, () => keepSlice(engine, state));
  while (!(await withState(engine, key, 'digests', async (state) => slice(state))));
}

/** True when no whole slice is left. */
async function keepSlice(engine: Engine, state: KeyState): Promise<boolean> {
  const from = Math.max(state.digestedThrough, state.base);
  const to = Math.min(state.committed, state.filledTo);
  if (to - from <= sliceBytes) return true;
  for await (const { offset, end, raw } of readLines(engine.files, state, from, to)) {
    keepDigest(engine, state, offset, raw);
    state.digestedThrough = end;
    if (end - from >= sliceBytes) break;
  }
  await engine.indexer.drainIfCrowded();
  return false;
}

function keepDigest(engine: Engine, state: KeyState, offset: number, raw: Uint8Array): void {
  const found = idOf(raw);
  // Two records of one derived id are never compared by content.
  if (found === undefined || found.isDerived) return;
  const entry = engine.indexer.find(state, found.id);
  if (entry === undefined || entry.contentSha256 !== undefined || entry.isDerivedId) return;
  if (entry.ordinal !== state.ordinal || entry.offset !== offset) return;
  engine.indexer.add(state, found.id, { ...entry, contentSha256: contentDigest(raw) });
}
