import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Disk } from '#disk';
import { evidenceKept } from '#signals';
import { append, assertBooks, cursorAt, item, kill, numbered } from '../../contract/queue/steps.ts';
import { testRecord } from '../../support/queue-fixtures.ts';
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

/** A disk whose syncs and reads may be held up. */
function hookedDisk(
  inner: Disk,
  hold: {
    sync(path: string): Promise<unknown> | undefined;
    read(path: string): Promise<unknown> | undefined;
  },
): Disk {
  const held =
    <A extends readonly unknown[], T>(path: string, act: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      await hold.sync(path);
      return act(...given);
    };
  return {
    ...inner,
    async readFile(path) {
      const bytes = await inner.readFile(path);
      await hold.read(path);
      return bytes;
    },
    async open(path, mode) {
      const file = await inner.open(path, mode);
      const { writeDurablyAt } = file;
      return {
        ...file,
        sync: held(path, () => file.sync()),
        writeDurablyAt: writeDurablyAt && held(path, writeDurablyAt.bind(file)),
      };
    },
  };
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

  it('are none where a letter is requeued while they are counted: no alarm that stays until the next start', () =>
    withPlace(async (place) => {
      await withLetters(place);
      const held = Promise.withResolvers<void>();
      const hooks = { isHeld: false, onLetters: (): Promise<unknown> => Promise.resolve() };
      const queue = await place.open({
        disk: hookedDisk(place.disk, {
          sync: (path) => (hooks.isHeld && path.endsWith('.wal') ? held.promise : undefined),
          read: (path) => (path === deadPath ? hooks.onLetters() : undefined),
        }),
      });
      const [, letter] = await queue.readDeadLetters(key);
      hooks.isHeld = true;
      const record = testRecord({ data: { n: 9 }, settles: letter?.id ?? '', eventId: 'again' });
      const requeue = queue.append([record]);
      let reads = 0;
      hooks.onLetters = async () => {
        reads += 1;
        if (reads < 2) return;
        // The count has begun; now the record of the requeue becomes durable.
        held.resolve();
        await requeue;
      };
      await queue.reconcileAllDead(signal);
      await requeue;
      expect(reads).toBeGreaterThan(1);
      expect(gaps(queue)).toEqual([]);
      await assertBooks(queue, { accepted: 3, applied: 1, dead: 1, pending: 1 });
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

describe('dead letters that are lost for good', () => {
  it('are written off: the books count them as discarded, also after a restart and a kill, and nothing is missing any more (P4, ING-717)', () =>
    withPlace(async (place) => {
      await withLetters(place);
      await edit(place.disk, deadPath, () => Buffer.alloc(0));
      const queue = await place.open();
      await queue.reconcileAllDead(signal);
      expect(await queue.countLetters(key)).toEqual({ key, counted: 2, found: 1 });
      expect(await queue.writeOffLetters(key)).toEqual({ key, counted: 2, found: 1 });
      expect(gaps(queue)).toEqual([]);
      const books = { accepted: 3, applied: 1, dead: 1, discarded: 1, pending: 0 };
      await assertBooks(queue, books);
      await place.kill();
      const again = await place.open();
      await again.reconcileAllDead(signal);
      expect(gaps(again)).toEqual([]);
      await assertBooks(again, books);
      await expect(again.writeOffLetters(key)).rejects.toMatchObject({ code: 'WRITE_OFF_REFUSED' });
    }));

  it('of a session that has ended are written off in its next epoch', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 2));
      await kill(first);
      const { items } = await first.readBatch(key, { records: 1, bytes: 1e6 });
      await first.commit(key, item(items).after, cursorAt(1), null);
      await first.lifeCycle.finalize(key);
      await first.close();
      await edit(place.disk, await retiredPath(place), () => Buffer.alloc(0));
      const queue = await place.open();
      await queue.writeOffLetters(key);
      await assertBooks(queue, { accepted: 2, applied: 1, dead: 0, discarded: 1, pending: 0 });
    }));

  for (const isWrittenOff of [false, true])
    it(`are records that wait again after a replay, ${isWrittenOff ? 'written off' : 'missing'} before, and the books balance (P4)`, () =>
      withPlace(async (place) => {
        const first = await place.open();
        await append(first, ...numbered('s', 0, 2));
        await kill(first);
        const { items } = await first.readBatch(key, { records: 1, bytes: 1e6 });
        await first.commit(key, item(items).after, cursorAt(1), null);
        await first.close();
        await edit(place.disk, deadPath, () => Buffer.alloc(0));
        const queue = await place.open();
        if (isWrittenOff) await queue.writeOffLetters(key);
        await queue.resetOffset(key, { by: 'operator', operationId: 'x' });
        const books = { accepted: 2, applied: 0, dead: 0, discarded: 0, pending: 2 };
        await assertBooks(queue, books);
        await place.kill();
        await assertBooks(await place.open(), books);
      }));
});

async function retiredPath({ disk }: Place): Promise<string> {
  const names = (await disk.readDirectory(folder)).map(({ name }) => name);
  return `${folder}/${names.find((name) => /^dead\..+\.jsonl$/.test(name)) ?? ''}`;
}
