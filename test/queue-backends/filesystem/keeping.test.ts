import { describe, expect, it } from 'vitest';
import type { Disk } from '#disk';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, type StateStore } from '#state';
import { killedDisk } from '../../../src/lab/killed-disk.ts';
import { openLabQueue } from '../../../src/lab/lab-queue.ts';
import { append, assertBooks, discard, drain, kill, numbered } from '../../contract/queue/steps.ts';
import { rootDisk } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { edit, folderOf, namesIn, readText, withPlace } from './place.ts';

const key = testKey();
const folder = folderOf();

/** Three letters: one discarded, one left as it is, and one of the next life that is discarded as well. */
async function liveWithLetters(queue: FilesystemQueue): Promise<readonly string[]> {
  await append(queue, ...numbered('s', 0, 3));
  const settled = await kill(queue);
  const open = await kill(queue);
  await drain(queue);
  await discard(queue, settled);
  await queue.lifeCycle.finalize(key);
  await append(queue, ...numbered('s', 3, 2));
  const later = await kill(queue);
  await discard(queue, later);
  await drain(queue);
  return [settled, open, later];
}

async function idsOf(queue: FilesystemQueue): Promise<readonly string[]> {
  return (await Array.fromAsync(queue.keeping.settledLetters())).map(({ id }) => id);
}

async function lettersOf(queue: FilesystemQueue): Promise<readonly string[]> {
  return (await queue.readDeadLetters(key)).map(({ id }) => id);
}

describe('settled dead letters (ING-713)', () => {
  it('are forgotten once their epoch is over; those that nobody settled, and those of the open epoch, never are (P4)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const [settled = '', open = '', later = ''] = await liveWithLetters(queue);
      expect(await idsOf(queue)).toEqual([settled]);
      const [facts] = await Array.fromAsync(queue.keeping.settledLetters());
      const file = `${folder}/${(await namesIn(place.disk, folder, /^dead\..+\.jsonl$/))[0] ?? ''}`;
      const before = await readText(place.disk, file);
      expect(await queue.keeping.forgetLetters(key, [settled, open, later])).toEqual([settled]);
      expect(await readText(place.disk, file)).toHaveLength(before.length - (facts?.bytes ?? 0));
      const left = [open, later];
      expect(await lettersOf(queue)).toEqual(left);
      expect(await queue.keeping.forgetLetters(key, [settled])).toEqual([settled]);
      await queue.lifeCycle.finalize(key);
      expect(await idsOf(queue)).toEqual([later]);
      await queue.keeping.forgetLetters(key, await idsOf(queue));
      await place.kill();
      queue = await place.open();
      // The frames of the two ends were replayed: what they told has its outcome still, and goes again.
      expect(await idsOf(queue)).toEqual(expect.arrayContaining([settled, later]));
      await queue.keeping.forgetLetters(key, await idsOf(queue));
      await queue.checkpoint();
      await place.kill();
      queue = await place.open();
      expect(await lettersOf(queue)).toEqual([open]);
      await assertBooks(queue, { accepted: 5, applied: 2, dead: 1, discarded: 2 });
      expect(queue.trouble()).toEqual([]);
    }));

  it('whose outcome came in a later life leave no line behind', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const [, open = '', later = ''] = await liveWithLetters(queue);
      await discard(queue, open);
      expect(await idsOf(queue)).toHaveLength(2);
      await queue.keeping.forgetLetters(key, await idsOf(queue));
      await queue.lifeCycle.finalize(key);
      await queue.keeping.forgetLetters(key, await idsOf(queue));
      expect(await lettersOf(queue)).toEqual([]);
      expect(await idsOf(queue)).not.toContain(later);
      expect(await namesIn(place.disk, folder, /^dead/)).toEqual([]);
    }));

  it('leave lines that nobody can read as they are, and a stopped session whole', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const [settled = ''] = await liveWithLetters(queue);
      const [name = ''] = await namesIn(place.disk, folder, /^dead\..+\.jsonl$/);
      await edit(place.disk, `${folder}/${name}`, (bytes) =>
        Buffer.concat([Buffer.from('{"half":\n'), bytes, Buffer.from('no end')]),
      );
      await queue.keeping.forgetLetters(key, [settled]);
      const text = await readText(place.disk, `${folder}/${name}`);
      expect(text.startsWith('{"half":\n')).toBe(true);
      expect(text.endsWith('no end')).toBe(true);
      await discard(queue, (await lettersOf(queue))[0] ?? '');
      await queue.quarantine(key, { code: 'CURSOR_CORRUPT', message: 'it says so' });
      expect(await idsOf(queue)).toEqual([]);
      const [open = ''] = await lettersOf(queue);
      expect(await queue.keeping.forgetLetters(key, [open])).toEqual([]);
      expect(await lettersOf(queue)).toContain(open);
    }));
});

const archiving = { isArchiving: (): boolean => true };

/** A session with two archives and letters, and all of it let go. */
async function letGo(disk: Disk, state: StateStore): Promise<void> {
  const queue = await openLabQueue({ disk, state, generation: 1, ...archiving });
  await liveWithLetters(queue);
  await queue.lifeCycle.finalize(key);
  await takeAll(queue);
  await queue.close();
}

async function takeAll(queue: FilesystemQueue): Promise<void> {
  const archives = await Array.fromAsync(queue.keeping.archives());
  await queue.keeping.removeArchives(
    key,
    archives.map(({ name }) => name),
  );
  await queue.keeping.forgetLetters(key, await idsOf(queue));
}

describe('archives and letters that go', () => {
  it('are told with their bytes and times, and gone ones may be taken again', async () => {
    const disk = rootDisk();
    const queue = await openLabQueue({ disk, ...archiving });
    await liveWithLetters(queue);
    const [archive, ...others] = await Array.fromAsync(queue.keeping.archives());
    expect(others).toEqual([]);
    const { size, modifiedMs } = (await disk.stat(`${folder}/${archive?.name ?? ''}`)) ?? {};
    expect(archive).toMatchObject({ key, bytes: size, atMs: modifiedMs });
    const names = [archive?.name ?? ''];
    expect(await queue.keeping.removeArchives(key, [...names, '../offset.json'])).toEqual(names);
    expect(await queue.keeping.removeArchives(key, names)).toEqual(names);
    expect(await Array.fromAsync(queue.keeping.archives())).toEqual([]);
    await queue.close();
  });

  it('end the same wherever the process is killed, once they are let go again', async () => {
    const whole = killedDisk(rootDisk(), Number.POSITIVE_INFINITY);
    await letGo(whole, memoryState());
    for (let killAt = 40; killAt < whole.changes; killAt += 1) {
      const disk = rootDisk();
      const state = memoryState();
      const through = killedDisk(disk, killAt);
      await Promise.race([letGo(through, state), through.killed]);
      const queue = await openLabQueue({ disk, state, generation: 2, ...archiving });
      await assertBooks(queue);
      const live = (await queue.readDeadLetters(key)).filter((one) => one.outcome.kind === 'live');
      const { dead } = queue.totals();
      await takeAll(queue);
      const left = await queue.readDeadLetters(key);
      expect(left.filter((one) => one.outcome.kind === 'live').length, `kill ${killAt}`).toBe(dead);
      expect(live).toHaveLength(dead);
      expect(await Array.fromAsync(queue.keeping.archives()), `kill ${killAt}`).toEqual([]);
      expect(await idsOf(queue)).toEqual([]);
      expect(queue.trouble()).toEqual([]);
      await queue.close();
    }
  });
});
