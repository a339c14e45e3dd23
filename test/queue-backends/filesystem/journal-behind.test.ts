import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { append, drain, numbered } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { edit, namesIn, segmentPaths, withPlace, type Place } from './place.ts';

function told(queue: FilesystemQueue): readonly string[] {
  return queue
    .trouble()
    .filter(({ code, isRefusing }) => code === 'JOURNAL_BEHIND' && !isRefusing)
    .map(({ message }) => message);
}

/** Records that were checkpointed, and some that only the journal holds. */
async function used(place: Place): Promise<void> {
  const first = await place.open();
  await append(first, ...numbered('s', 0, 3));
  await drain(first);
  await first.close();
  const second = await place.open();
  await append(second, ...numbered('s', 3, 2));
  await place.kill();
}

describe('a journal that lacks what a checkpoint has counted', () => {
  it('is told apart from one that a kill has left', () =>
    withPlace(async (place) => {
      await used(place);
      const queue = await place.open();
      expect(told(queue)).toEqual([]);
      expect(queue.totals().accepted).toBe(5);
    }));

  for (const [how, damage] of [
    ['missing', undefined],
    ['empty', () => Buffer.alloc(0)],
    ['garbage', (bytes: Buffer) => Buffer.alloc(bytes.length, 0xa5)],
  ] as const)
    it(`and is ${how} is named at every start until its note is removed (P1, P4)`, () =>
      withPlace(async (place) => {
        await used(place);
        for (const path of await segmentPaths(place.disk))
          if (damage === undefined) await place.disk.unlink(path);
          else await edit(place.disk, path, damage);
        for (let start = 0; start < 2; start += 1) {
          const queue = await place.open();
          const notes = await namesIn(place.disk, queueDirectory, /^journal\.behind\./);
          expect(told(queue)).toEqual([expect.stringContaining(notes[0] ?? 'a note')]);
          await queue.close();
        }
        const [note] = await namesIn(place.disk, queueDirectory, /^journal\.behind\./);
        await place.disk.unlink(`${queueDirectory}/${note ?? ''}`);
        expect(told(await place.open())).toEqual([]);
      }));
});
