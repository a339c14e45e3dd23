import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Disk } from '#disk';
import { memoryState } from '#state';
import { killedDisk } from '../../../src/lab/killed-disk.ts';
import { openLabQueue } from '../../../src/lab/lab-queue.ts';
import { append, assertBooks, drain, numbered } from '../../contract/queue/steps.ts';
import { rootDisk } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { folderOf, namesIn } from './place.ts';

const key = testKey();
const folder = folderOf();
const isArchiving = (): boolean => true;

/** Records that the archives of the session hold, in the order of their names. */
async function archived(disk: Disk): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const name of await namesIn(disk, folder, /^archive\./)) {
    const bytes = await disk.readFile(`${folder}/${name}`);
    lines.push(
      ...gunzipSync(bytes ?? new Uint8Array())
        .toString()
        .split('\n'),
    );
  }
  return lines.filter((line) => line !== '').map((line) => line.replace(/,"crc":"\w+"\}$/, '}'));
}

async function live(disk: Disk, state = memoryState()): Promise<readonly string[]> {
  const queue = await openLabQueue({ disk, state, isArchiving });
  const raws: string[] = [];
  for (const from of [0, 3]) {
    const inputs = numbered('s', from, 3);
    await append(queue, ...inputs);
    raws.push(...inputs.map(({ raw }) => Buffer.from(raw).toString()));
    await drain(queue);
    if (from === 0) await queue.lifeCycle.compactCommittedPrefix(key, 1);
  }
  expect(await queue.lifeCycle.finalize(key)).toBe('done');
  await queue.close();
  return raws;
}

describe('queue.archive', () => {
  it('keeps every record that compactions and the end of an epoch take away, once and in order (D31)', async () => {
    const disk = rootDisk();
    const raws = await live(disk);
    expect(await namesIn(disk, folder, /./)).toEqual([
      'archive.00000000.000000.jsonl.gz',
      'archive.00000000.000001.jsonl.gz',
    ]);
    expect(await archived(disk)).toEqual(raws);
  });

  it('keeps nothing where it is not set', async () => {
    const disk = rootDisk();
    const queue = await openLabQueue({ disk });
    await append(queue, ...numbered('s', 0, 3));
    await drain(queue);
    await queue.lifeCycle.finalize(key);
    expect(await namesIn(disk, folder, /^archive/)).toEqual([]);
    await queue.close();
  });

  it('loses no record, whenever the process is killed', async () => {
    const whole = killedDisk(rootDisk(), Number.POSITIVE_INFINITY);
    const raws = await live(whole);
    for (let killAt = 30; killAt < whole.changes; killAt += 3) {
      const disk = rootDisk();
      const state = memoryState();
      const through = killedDisk(disk, killAt);
      await Promise.race([live(through, state), through.killed]);
      const queue = await openLabQueue({ disk, state, generation: 2, isArchiving });
      await assertBooks(queue);
      const status = await queue.keyStatus(key);
      if (status !== undefined && status.pending > 0) await drain(queue);
      await queue.lifeCycle.finalize(key);
      await queue.close();
      const kept = await archived(disk);
      expect(kept, `killed at change ${killAt}`).toEqual(raws.slice(0, kept.length));
      expect(kept.length, `killed at change ${killAt}`).toBe(status?.accepted ?? 0);
    }
  });

  it('goes with a session that is deleted', async () => {
    const disk = rootDisk();
    const state = memoryState();
    await live(disk, state);
    const queue = await openLabQueue({ disk, state, generation: 2, isArchiving });
    await queue.removal.shut(key);
    await queue.removal.remove([key]);
    expect(await namesIn(disk, folder, /./)).toEqual([]);
    await queue.close();
  });
});
