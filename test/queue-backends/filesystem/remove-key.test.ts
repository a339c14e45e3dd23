import { describe, expect, it } from 'vitest';
import { everyCrash, namedPowerLosses, recordingDisk, type Crash, type Disk } from '#disk';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, type StateStore } from '#state';
import { killedDisk } from '../../../src/lab/killed-disk.ts';
import { openLabQueue } from '../../../src/lab/lab-queue.ts';
import { limits, named, recordedState, stateAfter } from '../../../src/lab/recorded-life.ts';
import {
  append,
  assertBooks,
  assertRejects,
  drain,
  kill,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { seededChance } from '../../support/chance.ts';
import { rootDisk } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { folderOf, namesIn, withPlace } from './place.ts';

const gone = testKey('gone');
const kept = testKey('kept');

/** Three records of a session, one of them a dead letter, beside another session. */
async function liveTwo(queue: FilesystemQueue): Promise<void> {
  await append(queue, ...numbered('gone', 0, 3), ...numbered('kept', 0, 2));
  await kill(queue, 'gone');
  await drain(queue, 'gone');
  await drain(queue, 'kept');
}

async function remove(queue: FilesystemQueue): Promise<void> {
  await queue.removal.shut(gone);
  await queue.removal.remove([gone]);
  queue.removal.reopen(gone);
}

describe('a session that is deleted', () => {
  it('leaves no file, row, id or letter, and its books leave those of the root (P4)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await liveTwo(queue);
      await queue.checkpoint();
      expect(await namesIn(place.disk, folderOf(gone), /./)).not.toEqual([]);
      await remove(queue);
      for (const restart of [false, true]) {
        if (restart) {
          await queue.close();
          queue = await place.open();
        }
        expect(await namesIn(place.disk, folderOf(gone), /./)).toEqual([]);
        expect(place.state.getRow(gone)).toBeUndefined();
        expect(place.state.getProgress(gone)).toBeUndefined();
        expect(place.state.getDedup(gone, 'gone-0')).toBeUndefined();
        expect(await queue.keyStatus(gone)).toBeUndefined();
        expect(await queue.readDeadLetters(gone)).toEqual([]);
        expect((await queue.listKeys({ limit: 9 })).map(({ key }) => key)).toEqual([kept]);
        await assertBooks(queue, { accepted: 2, applied: 2, dead: 0, discarded: 0 });
        expect(queue.totals().knownKeys).toBe(1);
        await queue.removal.remove([gone]);
      }
    }));

  it('begins a new life when it is posted again, with the same ids', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await liveTwo(queue);
      const before = await statusOf(queue, gone);
      await remove(queue);
      await append(queue, ...numbered('gone', 0, 2));
      await drain(queue, 'gone', 1);
      for (const restart of [false, true]) {
        if (restart) {
          await place.kill();
          queue = await place.open();
        }
        const status = await statusOf(queue, gone);
        expect(status).toMatchObject({ accepted: 2, applied: 1, dead: 0, ordinal: 0 });
        expect(status.epoch).not.toBe(before.epoch);
        expect(await pendingNumbers(queue, 'gone')).toEqual([1]);
        expect(queue.totals().knownKeys).toBe(2);
      }
    }));

  it('is left whole while a record waits or damage stops it', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('gone', 0, 2));
      await drain(queue, 'gone', 1);
      await assertRejects(queue.removal.shut(gone), 'SESSION_PENDING');
      await drain(queue, 'gone');
      await append(queue, ...numbered('kept', 0, 1));
      await drain(queue, 'kept');
      await queue.quarantine(kept, { code: 'CURSOR_CORRUPT', message: 'it says so' });
      await assertRejects(queue.removal.shut(kept), 'SESSION_QUARANTINED');
      await append(queue, ...numbered('gone', 2, 1));
      expect(await pendingNumbers(queue, 'gone')).toEqual([2]);
    }));

  it('takes nothing while it is shut, not the discard of a letter either', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await liveTwo(queue);
      const { committed } = await statusOf(queue, gone);
      const [letter] = await queue.readDeadLetters(gone);
      await queue.removal.shut(gone);
      await assertRejects(queue.append(numbered('gone', 3, 1)), 'SESSION_DELETING');
      await assertRejects(
        queue.append([...numbered('kept', 2, 1), ...numbered('gone', 3, 1)]),
        'SESSION_DELETING',
      );
      const cursor = await queue.readCursor(gone);
      if (cursor === null) throw new Error('it has one');
      await assertRejects(
        queue.deadLetter(gone, [{ discarded: letter?.id ?? '', by: 'x' }], committed, cursor),
        'SESSION_DELETING',
      );
      await append(queue, ...numbered('kept', 2, 1));
      queue.removal.reopen(gone);
      await append(queue, ...numbered('gone', 3, 1));
      expect(await pendingNumbers(queue, 'gone')).toEqual([3]);
    }));
});

/** What may be there after a crash that came with these marks, and what the removal makes of it when it is taken again. */
async function check(queue: FilesystemQueue, marks: ReadonlySet<string>): Promise<void> {
  const status = await queue.keyStatus(gone);
  const isNew = status?.accepted === 1;
  if (marks.has('posted again')) expect(isNew).toBe(true);
  if (marks.has('removed')) expect(status === undefined || isNew).toBe(true);
  else if (status !== undefined && !isNew)
    expect(status).toMatchObject({ accepted: 3, applied: 2, dead: 1, pending: 0 });
  if (!isNew) await remove(queue);
  expect(await queue.keyStatus(kept)).toMatchObject({ accepted: 2, applied: 2, pending: 0 });
  const accepted = isNew ? 3 : 2;
  await assertBooks(queue, { accepted, applied: 2, dead: 0, discarded: 0 });
  expect(queue.totals().knownKeys).toBe(isNew ? 2 : 1);
  expect(await queue.readDeadLetters(gone)).toEqual([]);
  if (isNew) expect(await pendingNumbers(queue, 'gone')).toEqual([0]);
}

async function lifeOn(
  disk: Disk,
  state: StateStore,
  tell: (label: string) => void,
): Promise<FilesystemQueue> {
  const queue = await openLabQueue({ disk, state, generation: 1, limits });
  await liveTwo(queue);
  await queue.checkpoint();
  tell('lived');
  await remove(queue);
  tell('removed');
  await append(queue, ...numbered('gone', 0, 1));
  tell('posted again');
  return queue;
}

describe('a deletion that is cut off', () => {
  const few = namedPowerLosses(2, seededChance).filter(({ name }) =>
    /bytes lost, entries lost|torn 1/.test(name),
  );

  it('by a power loss at any step leaves the session whole or gone, and is taken again (P2, P4)', async () => {
    const disk = recordingDisk(rootDisk());
    const inner = memoryState();
    const queue = await lifeOn(disk, recordedState(disk, inner), (label) => disk.mark(label, {}));
    const log = { start: disk.log.start, steps: [...disk.log.steps] };
    await queue.close();
    let count = 0;
    for (const crash of everyCrash(log, few)) {
      if (!crash.marks.some(({ label }) => label === 'lived')) continue;
      count += 1;
      await named(crash, log, () => reopened(crash));
    }
    expect(count).toBeGreaterThan(50);
  });

  it('by a kill at any step as well', async () => {
    const untouched = killedDisk(rootDisk(), Number.POSITIVE_INFINITY);
    let lived = 0;
    const whole = await lifeOn(untouched, memoryState(), (label) => {
      if (label === 'lived') lived = untouched.changes;
    });
    const all = untouched.changes;
    await whole.close();
    expect(all - lived).toBeGreaterThan(20);
    for (let killAt = lived; killAt < all; killAt += 1) {
      const disk = rootDisk();
      const state = memoryState();
      const marks = new Set<string>();
      const through = killedDisk(disk, killAt);
      await Promise.race([lifeOn(through, state, (label) => marks.add(label)), through.killed]);
      const queue = await openLabQueue({ disk, state, generation: 2, limits });
      try {
        await check(queue, marks);
      } catch (error) {
        throw new Error(`killed at change ${killAt}`, { cause: error });
      } finally {
        await queue.close();
      }
    }
  });
});

async function reopened(crash: Crash): Promise<void> {
  const state = stateAfter(crash);
  const queue = await openLabQueue({ disk: crash.disk, state, generation: 2, limits });
  try {
    await check(queue, new Set(crash.marks.map(({ label }) => label)));
  } finally {
    await queue.close();
  }
}
