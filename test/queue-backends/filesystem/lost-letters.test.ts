import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { evidenceKept } from '#signals';
import { append, assertBooks, cursorAt, item, kill, numbered } from '../../contract/queue/steps.ts';
import { edit, flipAt, readText, withPlace, type Place } from './place.ts';
import { folder, key } from './stopped-key.ts';

const deadPath = `${folder}/dead.jsonl`;
const signal = new AbortController().signal;

/** One applied record, one dead, one dead in an epoch that has ended. */
async function withLetters(place: Place): Promise<void> {
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 2));
  await kill(queue);
  const { items } = await queue.readBatch(key, { records: 1, bytes: 1e6 });
  await queue.commit(key, item(items).after, cursorAt(1), null);
  await queue.lifeCycle.finalize(key);
  await append(queue, ...numbered('s', 2, 1));
  await kill(queue);
  await queue.close();
}

function gaps(queue: FilesystemQueue): readonly string[] {
  return queue
    .trouble()
    .filter(({ code, isRefusing }) => code === 'DEAD_LETTERS_MISSING' && !isRefusing)
    .map(({ message }) => message);
}

describe('dead letters that are gone from their files', () => {
  it('are none where all are there', () =>
    withPlace(async (place) => {
      await withLetters(place);
      const queue = await place.open();
      await queue.reconcileAllDead(signal);
      expect(gaps(queue)).toEqual([]);
      expect(await queue.readDeadLetters(key)).toHaveLength(2);
    }));

  for (const [what, name] of [
    ['of the open epoch', () => Promise.resolve(deadPath)],
    ['of an epoch that has ended', retiredPath],
  ] as const)
    it(`${what} are told until the file is put back, and hold nobody up (P4, P7, ING-414)`, () =>
      withPlace(async (place) => {
        await withLetters(place);
        const path = await name(place);
        const sound = await readText(place.disk, path);
        for (const damage of [() => Buffer.alloc(0), (b: Buffer) => flipAt(b, '{"v":1')]) {
          await edit(place.disk, path, damage);
          const told: string[] = [];
          const end = evidenceKept.subscribe(({ reason }) => told.push(reason));
          const queue = await place.open();
          await queue.reconcileAllDead(signal);
          await queue.reconcileAllDead(signal);
          end();
          expect(gaps(queue)).toEqual([
            expect.stringContaining(`${key} count 2 dead letters, its files hold 1`),
          ]);
          expect(told.filter((reason) => reason.includes('count 2 dead letters'))).toHaveLength(1);
          await assertBooks(queue, { accepted: 3, applied: 1, dead: 2, pending: 0 });
          await edit(place.disk, path, () => Buffer.from(sound));
          await queue.classify(key);
          expect(gaps(queue)).toEqual([]);
          await queue.close();
        }
      }));
});

async function retiredPath({ disk }: Place): Promise<string> {
  const names = (await disk.readDirectory(folder)).map(({ name }) => name);
  return `${folder}/${names.find((name) => /^dead\..+\.jsonl$/.test(name)) ?? ''}`;
}
