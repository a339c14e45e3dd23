import { isMillraceError } from '#base';
import {
  everyCrash,
  failingDisk,
  namedPowerLosses,
  recordingDisk,
  type Disk,
  type DiskFile,
} from '#disk';
import { labPermit } from '#fence';
import { memoryState } from '#state';
import { segmentHeaderBytes } from '../../queue-backends/filesystem/journal/segment.ts';
import { labDisk, openLabQueue } from '../../src/lab/lab-queue.ts';
import { over } from '../../src/lab/over.ts';
import { checkCrash, live, named } from '../../src/lab/recorded-life.ts';
import { append, appendWhenWell, numbered, pendingNumbers } from '../contract/queue/steps.ts';
import { edit, segmentPaths, withPlace } from '../queue-backends/filesystem/place.ts';
import { seededChance } from '../support/chance.ts';

/** Lives of a queue that the guards of the journal judge; imported anew for each mutant, with the mutant in it. */

/** What waits after a start behind a torn tail, an append, and one more start. */
export async function tornThenAppended(): Promise<readonly number[]> {
  let pending: readonly number[] = [];
  await withPlace(async (place) => {
    const first = await place.open();
    await append(first, ...numbered('s', 0, 1));
    await append(first, ...numbered('s', 1, 1));
    await place.kill();
    const path = (await segmentPaths(place.disk)).at(-1) ?? '';
    await edit(place.disk, path, (bytes) => {
      const torn = Buffer.from(bytes);
      torn.fill(0, torn.lastIndexOf('"n":1'));
      return torn;
    });
    await append(await place.open(), ...numbered('s', 2, 1));
    await place.kill();
    pending = await pendingNumbers(await place.open());
  });
  return pending;
}

/** What waits after a refused append whose ABANDON failed as well, an acknowledged one, and kill -9. */
export async function refusedTwice(): Promise<{
  readonly s: readonly number[];
  readonly t: readonly number[];
}> {
  let kept: { readonly s: readonly number[]; readonly t: readonly number[] } = { s: [], t: [] };
  await withPlace(async (place) => {
    const disk = failingDisk(place.disk);
    const first = await place.open({ disk });
    await append(first, ...numbered('s', 0, 1));
    // The group's own sync; of the next segment the zeros and the header are synced before its ABANDON is.
    const sync = { code: 'EIO', calls: ['sync'], path: /\.wal$/ } as const;
    disk.plan([
      { ...sync, nth: 1 },
      { ...sync, nth: 4 },
    ]);
    await first.append(numbered('s', 1, 1)).catch(() => undefined);
    await place.clock.advance(400);
    if (disk.failureCount() !== 2) throw new Error('both syncs were to fail');
    await appendWhenWell(first, numbered('t', 2, 1));
    await place.kill();
    // What was not synced of the ABANDON is lost; what was not synced of the group is there.
    const [, second = '', ...others] = (await segmentPaths(place.disk)).toSorted();
    if (others.length !== 1) throw new Error('each failure was to end a segment');
    await edit(place.disk, second, (bytes) => Buffer.from(bytes).fill(0, segmentHeaderBytes));
    const again = await place.open();
    kept = { s: await pendingNumbers(again, 's'), t: await pendingNumbers(again, 't') };
  });
  return kept;
}

/** Checks what every crash leaves of a life in which one key's files cannot be written; how many there were. */
export async function crashesWhileCarrying(): Promise<number> {
  const disk = recordingDisk(labDisk());
  const through = failingDisk(disk);
  const calls = ['makeDirectory', 'open', 'writeAt', 'sync', 'rename'] as const;
  await live({ disk, state: memoryState(), generation: 1, through }, async (history) => {
    through.plan([{ code: 'EIO', path: /w~b/, calls, times: Number.POSITIVE_INFINITY }]);
    await history.append({ n: 1, session: 'a' }, { n: 2, session: 'b' });
    await history.drain('b', 1);
    await history.checkpoint();
    await history.append({ n: 3, session: 'a', padding: 6000 }, { n: 4, session: 'b' });
    await history.checkpoint();
  });
  const losses = namedPowerLosses(1, seededChance).filter(({ name }) =>
    /bytes kept, entries kept|bytes lost, entries lost/.test(name),
  );
  let count = 0;
  for (const crash of everyCrash(disk.log, losses)) {
    await named(crash, disk.log, () => checkCrash(crash, 2));
    count += 1;
  }
  return count;
}

/** Stops before the first write to the journal, once it is told to, and does `meanwhile`. */
function pausing(inner: Disk): { readonly disk: Disk; arm(meanwhile: () => Promise<void>): void } {
  let armed: (() => Promise<void>) | undefined;
  const pause = async (): Promise<void> => {
    const meanwhile = armed;
    armed = undefined;
    await meanwhile?.();
  };
  const slow = (file: DiskFile): DiskFile => ({
    path: file.path,
    readAt: (into, at) => file.readAt(into, at),
    async writeAt(buffers, at) {
      await pause();
      await file.writeAt(buffers, at);
    },
    sync: () => file.sync(),
    truncate: (size) => file.truncate(size),
    size: () => file.size(),
    close: () => file.close(),
  });
  const disk = over(inner, {
    async open(path, mode) {
      const file = await inner.open(path, mode);
      return path.endsWith('.wal') ? slow(file) : file;
    },
  });
  return {
    disk,
    arm(meanwhile) {
      armed = meanwhile;
    },
  };
}

/**
 * Two tenures over one disk: the second takes the lease row and reads the journal while an append of the first, which knows nothing of it, is on
 * its way to the disk. What the first answers, and what a third tenure finds.
 */
export async function appendOfATenureTakenOver(): Promise<{
  readonly answer: string;
  readonly kept: readonly number[];
}> {
  let holder = 1;
  const shared = labDisk();
  const tenure = (generation: number, disk: Disk = shared): ReturnType<typeof openLabQueue> =>
    openLabQueue({
      disk,
      generation,
      state: memoryState(),
      permit: labPermit(
        generation,
        () => true,
        () => holder === generation,
      ),
    });
  const { disk, arm } = pausing(shared);
  const first = await tenure(1, disk);
  await append(first, ...numbered('s', 0, 1));
  let second: typeof first | undefined;
  arm(async () => {
    holder = 2;
    second = await tenure(2);
  });
  const answer = await first.append(numbered('s', 1, 1)).then(
    () => 'acknowledged',
    (error: unknown) => (isMillraceError(error) ? error.code : String(error)),
  );
  if (second === undefined) throw new Error('the second tenure has begun');
  await append(second, ...numbered('s', 2, 1));
  await second.close();
  holder = 3;
  const third = await tenure(3);
  const kept = await pendingNumbers(third);
  await third.close();
  return { answer, kept };
}
