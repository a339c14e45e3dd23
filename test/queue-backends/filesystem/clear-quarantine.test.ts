import { describe, expect, it } from 'vitest';
import {
  append,
  assertBooks,
  kill,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { testRecord } from '../../support/queue-fixtures.ts';
import { edit, flipAt, namesIn, readText, withPlace } from './place.ts';
import {
  apply,
  clear,
  cursorOf,
  everAfter,
  folder,
  generationPath,
  key,
  logPath,
  marker,
  offsetPath,
  recordWith,
  seen,
  settled,
  stopped,
} from './stopped-key.ts';

describe('--keep', () => {
  it('goes on where the key stood once its record can be read again (ING-412)', () =>
    withPlace(async (place) => {
      await settled(place);
      const sound = await readText(place.disk, offsetPath);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      await append(queue, testRecord({ data: { n: 6 } }));
      await expect(clear(queue, 'keep')).rejects.toMatchObject({
        code: 'CLEAR_REFUSED',
        details: { ways: ['restart-log', 'skip-to-end', 'offset-from-preserved'].toSorted() },
      });
      await edit(place.disk, offsetPath, () => Buffer.from(sound));
      expect(await clear(queue, 'keep')).toMatchObject({
        cursorFrom: 'kept',
        pending: 4,
        letters: 0,
      });
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([3, 4, 5, 6]);
        expect(await seen(open)).toEqual(['r0', 'r1']);
        await assertBooks(open, { applied: 2, dead: 1, pending: 6 });
        expect(await namesIn(place.disk, folder, marker)).toEqual([]);
      });
    }));

  it('tells a generation file of a first epoch anew, and keeps what was there', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, generationPath, (bytes) => flipAt(bytes, '"epoch"'));
      const queue = await stopped(place, 'LOG_GENERATION_MISSING');
      await clear(queue, 'keep');
      expect(await namesIn(place.disk, folder, /^generation\..*\.corrupt\./)).not.toEqual([]);
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([3, 4, 5]);
        await assertBooks(open, { applied: 2, dead: 1, pending: 5 });
      });
    }));

  it('is refused while the log is damaged, and names the way that applies', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":4'));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      await expect(clear(queue, 'keep')).rejects.toMatchObject({
        code: 'CLEAR_REFUSED',
        message: expect.stringContaining('--pass-over') as string,
      });
      await expect(clear(queue, 'restart-log')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
    }));
});

describe('--offset-from-preserved', () => {
  it('takes position and cursor of a kept file, and reads around what is dead behind it (ING-412, ING-702)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 6));
      await apply(first, 1);
      await first.close();
      const old = await readText(place.disk, offsetPath);
      const queue = await place.open();
      await apply(queue, 1);
      await kill(queue);
      await queue.close();
      await edit(place.disk, offsetPath, () => Buffer.from('12x'));
      await edit(place.disk, `${offsetPath}.restored`, () => Buffer.from(old));
      const again = await stopped(place, 'OFFSET_CORRUPT');
      const report = await clear(again, 'offset-from-preserved', { file: 'offset.json.restored' });
      expect(report).toMatchObject({ cursorFrom: 'preserved', pending: 4 });
      await everAfter(place, again, async (open) => {
        expect(await seen(open)).toEqual(['r0']);
        expect(await pendingNumbers(open), 'up to the dead record').toEqual([1]);
        await assertBooks(open, { applied: 1, dead: 1, pending: 4 });
      });
      const last = await place.open();
      await apply(last, 1);
      expect(await pendingNumbers(last), 'behind the dead record').toEqual([3, 4, 5]);
      await assertBooks(last, { applied: 2, dead: 1, pending: 3 });
      expect(await last.readDeadLetters(key)).toHaveLength(1);
    }));

  it('refuses a path, a file of another epoch, one beyond the log, and one inside a record', () =>
    withPlace(async (place) => {
      await settled(place);
      const sound = Buffer.from(await readText(place.disk, offsetPath));
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const bad: Readonly<Record<string, Buffer>> = {
        'offset.json.restored.a': recordWith(sound, { epoch: 'other' }),
        'offset.json.restored.b': recordWith(sound, { offset: 10_000 }),
        'offset.json.restored.c': recordWith(sound, { offset: 3 }),
        'offset.json.restored.d': Buffer.alloc(40),
      };
      for (const [name, bytes] of Object.entries(bad))
        await edit(place.disk, `${folder}/${name}`, () => bytes);
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      const paths = [
        '../offset.json.restored.a',
        '/etc/passwd',
        'offset.json',
        'offset.json.corrupt.none',
      ];
      for (const file of [...Object.keys(bad), ...paths])
        await expect(clear(queue, 'offset-from-preserved', { file }), file).rejects.toMatchObject({
          code: 'CLEAR_REFUSED',
        });
      expect((await statusOf(queue, key)).quarantine).not.toBeNull();
    }));

  it('folds the cursor of a bare number, which has none of its own (ING-214)', () =>
    withPlace(async (place) => {
      await settled(place);
      const { offset } = JSON.parse(await readText(place.disk, offsetPath)) as { offset: number };
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      await edit(place.disk, `${offsetPath}.restored`, () => Buffer.from(String(offset)));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      const report = await clear(queue, 'offset-from-preserved', { file: 'offset.json.restored' });
      expect(report.cursorFrom).toBe('folded');
      expect(await seen(queue)).toEqual(['r0', 'r1']);
      expect(await pendingNumbers(queue)).toEqual([3, 4, 5]);
    }));
});

describe('--restart-log', () => {
  it('begins the log again with the cursor that it began with; what is dead stays dead (ING-412, ING-T15)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      expect(await clear(queue, 'restart-log')).toMatchObject({
        cursorFrom: 'generation',
        pending: 5,
      });
      await everAfter(place, queue, async (open) => {
        expect(await seen(open)).toEqual([]);
        expect(await pendingNumbers(open)).toEqual([0, 1]);
        await assertBooks(open, { applied: 0, dead: 1, pending: 7 });
      });
      const last = await place.open();
      await apply(last, 2);
      await apply(last, 10);
      expect(await seen(last)).toEqual(['r0', 'r1', 'r3', 'r4', 'r5']);
      await assertBooks(last, { applied: 5, dead: 1, pending: 2 });
    }));
});

describe('--skip-to-end', () => {
  it('makes what waits dead letters, with the cursor folded up to there (ING-412)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      await append(queue, testRecord({ data: { n: 6 } }));
      expect(await clear(queue, 'skip-to-end')).toMatchObject({
        cursorFrom: 'folded',
        letters: 4,
        deadRecords: 4,
        pending: 0,
      });
      await everAfter(place, queue, async (open) => {
        expect(await seen(open)).toEqual(['r0', 'r1']);
        expect(await pendingNumbers(open)).toEqual([]);
        await assertBooks(open, { applied: 2, dead: 5, pending: 2 });
        expect(await open.readDeadLetters(key)).toHaveLength(5);
      });
      const last = await place.open();
      const letter = (await last.readDeadLetters(key)).at(-1);
      if (letter === undefined) throw new Error('a letter is there');
      await append(last, testRecord({ data: { n: 6 }, settles: letter.id, eventId: 'again' }));
      expect(await pendingNumbers(last)).toEqual([6]);
      await assertBooks(last, { applied: 2, dead: 4, pending: 3 });
    }));

  it('takes a backlog in several frames, each with the letters that it passes', () =>
    withPlace(async (place) => {
      const first = await place.open({ limits: { bytesPerKeyMax: 64 * 2 ** 20 } });
      const filling = 'x'.repeat(512 * 1024);
      for (let n = 0; n < 20; n += 1) await append(first, testRecord({ data: { n, filling } }));
      await apply(first, 1);
      await first.close();
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      expect(await clear(queue, 'skip-to-end')).toMatchObject({ letters: 19, pending: 0 });
      await everAfter(place, queue, async (open) => {
        expect(await open.readDeadLetters(key)).toHaveLength(19);
        await assertBooks(open, { applied: 1, dead: 19, pending: 0 });
      });
    }));
});

describe('--pass-over', () => {
  it('makes the damaged range one letter that counts its records, and goes on behind it (C44, SC-002, P4)', () =>
    withPlace(async (place) => {
      await settled(place);
      const text = await readText(place.disk, logPath);
      const lines = text.split('\n');
      await edit(place.disk, logPath, (bytes) => flipAt(flipAt(bytes, '"n":3'), '"n":4'));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      const report = await clear(queue, 'pass-over');
      expect(report).toMatchObject({ cursorFrom: 'kept', letters: 1, deadRecords: 2, pending: 1 });
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([5]);
        await assertBooks(open, { applied: 2, dead: 3, pending: 3 });
        const letter = (await open.readDeadLetters(key)).at(-1);
        expect(letter).toMatchObject({ records: 2, error: { code: 'RECORD_CORRUPT' } });
        expect(letter?.payload.length).toBe(`${lines[3]}\n${lines[4]}\n`.length);
      });
      const last = await place.open();
      const letter = (await last.readDeadLetters(key)).at(-1);
      const status = await statusOf(last, key);
      const discards = [{ discarded: letter?.id ?? '', by: 'operator' }];
      await last.deadLetter(key, discards, status.committed, cursorOf(0, 1));
      await assertBooks(last, { applied: 2, dead: 1, discarded: 2, pending: 3 });
    }));

  it('finds the record that a lost line break had swallowed (SC-001, U1)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => {
        const at = bytes.indexOf('"n":3');
        const end = bytes.indexOf('\n', at);
        const changed = Buffer.from(bytes);
        changed[end] = 0x20;
        return changed;
      });
      const queue = await stopped(place, 'RECORD_CORRUPT');
      expect(await clear(queue, 'pass-over')).toMatchObject({
        letters: 1,
        deadRecords: 1,
        pending: 2,
      });
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([4, 5]);
        await assertBooks(open, { applied: 2, dead: 2, pending: 4 });
      });
    }));

  it('passes several ranges one after another', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(flipAt(bytes, '"n":3'), '"n":5'));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      expect((await queue.showQuarantine(key))?.damageCount).toBe(2);
      expect(await clear(queue, 'pass-over')).toMatchObject({ deadRecords: 1, pending: 2 });
      await apply(queue, 1);
      await expect(queue.readBatch(key, { records: 1, bytes: 1e6 })).rejects.toThrow();
      expect(await clear(queue, 'pass-over')).toMatchObject({ deadRecords: 1, pending: 0 });
      await everAfter(place, queue, async (open) => {
        expect(await seen(open)).toEqual(['r0', 'r1', 'r4']);
        await assertBooks(open, { applied: 3, dead: 3, pending: 2 });
      });
    }));

  it('passes the bytes that a log has lost at its end, and gives no position twice (P2)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => bytes.subarray(0, bytes.indexOf('"n":4')));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      const [position] = await append(queue, testRecord({ data: { n: 6 } }));
      expect(await clear(queue, 'pass-over')).toMatchObject({ letters: 1, deadRecords: 2 });
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([3]);
        await assertBooks(open, { applied: 2, dead: 3, pending: 4 });
      });
      const last = await place.open();
      await apply(last, 1);
      const batch = await last.readBatch(key, { records: 10, bytes: 1e6 });
      expect(batch.items.map(({ at }) => at)).toEqual([position]);
      await apply(last, 1);
      await assertBooks(last, { applied: 4, dead: 3, pending: 2 });
    }));

  it('lets the sender of a passed record send it again: nobody else can bring it back', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const record = testRecord({ data: { n: 1 }, eventId: 'e1' });
      await append(first, testRecord({ data: { n: 0 } }), record);
      await apply(first, 1);
      await first.close();
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      await clear(queue, 'pass-over');
      expect((await queue.append([record])).map(({ status }) => status)).toEqual(['queued']);
      expect(await pendingNumbers(queue)).toEqual([1]);
      await assertBooks(queue, { accepted: 3, applied: 1, dead: 1, pending: 1 });
    }));
});
