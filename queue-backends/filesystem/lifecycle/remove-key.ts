import { join } from 'node:path';
import { failpoint } from '#disk';
import { type KeyGuard, type KeyRemoval, sessionPending, sessionQuarantined } from '#queue';
import type { Key } from '#record';
import type { StateWrite } from '#state';
import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type RemovalPayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { loadState } from '../session/load-key.ts';
import type { Upkeep } from '../upkeep.ts';
import { asRetry } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { finalise } from './finalise.ts';

/** The end of sessions that are deleted; what the frame says, recovery carries out as well (README: REMOVAL). */
export function createRemoval(engine: Engine, upkeep: Upkeep): KeyRemoval {
  return {
    shut: (key) => shut(engine, key),
    keepShut: (key) => void engine.shut.add(key),
    reopen: (key) => void engine.shut.delete(key),
    async remove(keys) {
      assertWriter(engine);
      for (const key of keys) await engine.filesGate.pass(() => finalise(engine, key));
      // From here on no frame of theirs is needed: the one that tells of their end is the only one behind the mark.
      await upkeep.checkpoint();
      await upkeep.alone(async () => {
        for (const key of keys)
          await engine.locks.with(key, (guard) => asRetry(key, () => removeKey(engine, guard)));
      });
    },
  };
}

/** Shut first: what comes between would be lost. A record that came before shows in the check of the finalise. */
async function shut(engine: Engine, key: Key): Promise<void> {
  engine.shut.add(key);
  try {
    const outcome = await engine.filesGate.pass(() => finalise(engine, key));
    if (outcome === 'late-lines') throw sessionPending({ key });
    if (outcome === 'refused')
      throw sessionQuarantined({ keys: [key], reason: 'take a way out before it is deleted' });
  } catch (error) {
    engine.shut.delete(key);
    throw error;
  }
}

async function removeKey(engine: Engine, guard: KeyGuard): Promise<void> {
  assertWriter(engine);
  const { key } = guard;
  const { state: store, disk } = engine.options;
  if ((await loadState(engine, guard))?.isOpen === true) throw sessionPending({ key });
  const row = store.getRow(key);
  const isGone =
    row === undefined &&
    store.getProgress(key) === undefined &&
    (await disk.stat(engine.files.folderOf(key))) === undefined;
  if (isGone) return;
  // Its row goes in the same section, before a mark may pass the frame: so its books are taken out of the root's once.
  if (row !== undefined && !engine.removed.has(key)) {
    const payload: RemovalPayload = { k: key, totals: row.totals };
    await submitFrame(engine, frameKinds.removal, encodeJson(payload), () => {
      countRemoval(engine, payload);
      engine.removed.add(key);
    });
  }
  await failpoint('removal:marked');
  await takeTraces(engine, key);
}

/** Before a checkpoint moves the mark past the frames: a removal that was cut short by a failing disk would be counted twice after a crash. */
export async function finishRemovals(engine: Engine): Promise<void> {
  for (const key of engine.removed) await engine.locks.with(key, () => takeTraces(engine, key));
}

/** The books of the root are those of its keys: with a key its numbers go, so that they balance as before (ING-717). */
export function countRemoval(
  { totals }: Pick<Engine, 'totals'>,
  { totals: gone }: RemovalPayload,
): void {
  totals.keys -= 1;
  for (const member of ['accepted', 'applied', 'dead', 'discarded', 'duplicates'] as const)
    totals[member] -= gone[member];
}

/** Ids, folder and rows of a key that has no frame behind the mark but the one that ends it. The row goes last: it shows that there is something left. */
export async function takeTraces(engine: Engine, key: Key): Promise<void> {
  const { state: store, permit } = engine.options;
  await store.forgetIds(permit, key, { from: { ordinal: 0, offset: 0 } });
  await failpoint('removal:ids-gone');
  await removeFolder(engine, key);
  await failpoint('removal:folder-gone');
  const row = store.getRow(key);
  const epochs = Array.from({ length: (row?.ordinal ?? 0) + 1 }, (_, ordinal): StateWrite => ({
    table: 'epoch',
    key,
    ordinal,
    epoch: null,
  }));
  await store.write(permit, [
    ...epochs,
    { table: 'progress', key, progress: null },
    { table: 'row', key, row: null },
  ]);
  await store.flush();
  engine.removed.delete(key);
}

/** Evidence too: who deletes a session wants nothing of it to stay. */
async function removeFolder(engine: Engine, key: Key): Promise<void> {
  const { disk } = engine.options;
  const folder = engine.files.folderOf(key);
  if ((await disk.stat(folder)) === undefined) return;
  for (const { name } of await disk.readDirectory(folder)) await disk.unlink(join(folder, name));
  await disk.syncDirectory(folder);
  await disk.removeDirectory?.(folder);
  const [shard] = engine.files.foldersAbove(key);
  if (shard !== undefined) await disk.syncDirectory(shard);
}
