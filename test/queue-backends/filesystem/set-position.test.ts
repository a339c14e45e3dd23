import { describe, expect, it } from 'vitest';
import { parsePosition } from '#record';
import { assertBooks, pendingNumbers, statusOf } from '../../contract/queue/steps.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { edit, flipAt, namesIn, withPlace } from './place.ts';
import {
  apply,
  clear,
  cursorOf,
  everAfter,
  folder,
  key,
  logPath,
  offsetPath,
  recordWith,
  seen,
  settled,
  stopped,
} from './stopped-key.ts';

describe('a way out', () => {
  it('is taken once, however often it is asked for by the same operation (C25)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await stopped(place, 'OFFSET_CORRUPT');
      const asked = { operationId: 'mine' };
      expect(await clear(queue, 'restart-log', asked)).toMatchObject({ isNew: true });
      await apply(queue, 2);
      expect(await clear(queue, 'restart-log', asked)).toMatchObject({ isNew: false });
      expect(await seen(queue)).toEqual(['r0', 'r1']);
      await queue.close();
      const again = await place.open();
      expect(await clear(again, 'restart-log', asked)).toMatchObject({ isNew: false });
      await expect(clear(again, 'restart-log')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
    }));

  it('makes what was read before it stale (W8, ING-219)', () =>
    withPlace(async (place) => {
      await settled(place);
      const queue = await place.open();
      const { items } = await queue.readBatch(key, { records: 1, bytes: 1e6 });
      await queue.resetOffset(key, { by: 'operator', operationId: 'replay' });
      await expect(
        queue.commit(key, items[0]?.after ?? ('' as never), cursorOf(0, 1, 3), null),
      ).rejects.toMatchObject({ code: 'POSITION_STALE', disposition: 'retry' });
      expect(await pendingNumbers(queue)).toEqual([0, 1]);
    }));

  it('shows beforehand what is damaged and what applies', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":3'));
      const queue = await stopped(place, 'RECORD_CORRUPT');
      const view = await queue.showQuarantine(key);
      expect(view).toMatchObject({
        code: 'RECORD_CORRUPT',
        damageCount: 1,
        recordFault: null,
        pending: 3,
      });
      expect(view?.ways.filter(({ applies }) => applies).map(({ mode }) => mode)).toEqual([
        'skip-to-end',
        'pass-over',
      ]);
      expect(view?.preserved.some(({ name }) => name.startsWith('log.000000.jsonl.corrupt.'))).toBe(
        true,
      );
      expect(await queue.showQuarantine(testKey('t'))).toBeUndefined();
    }));
});

describe('a replay', () => {
  it('drains a key again from where its log begins (W8, ING-219)', () =>
    withPlace(async (place) => {
      await settled(place);
      const queue = await place.open();
      const report = await queue.resetOffset(key, { by: 'operator', operationId: 'x' });
      expect(parsePosition(report.committed)?.offset).toBe(0);
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([0, 1]);
        expect(await seen(open)).toEqual([]);
        await assertBooks(open, { applied: 0, dead: 1, pending: 7 });
      });
      expect(await namesIn(place.disk, folder, /^offset\.json\.replaced\./)).not.toEqual([]);
    }));

  it('is refused for a log that is damaged', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":0'));
      const queue = await place.open();
      await expect(
        queue.resetOffset(key, { by: 'operator', operationId: 'x' }),
      ).rejects.toMatchObject({ code: 'RESET_REFUSED' });
      expect(await pendingNumbers(queue)).toEqual([3, 4, 5]);
    }));
});

describe('a damaged position that may be set back by itself (ING-822)', () => {
  for (const [name, change] of Object.entries({
    empty: () => Buffer.alloc(0),
    'beyond the log': (bytes: Buffer) => recordWith(bytes, { offset: 10_000 }),
    'inside a record': (bytes: Buffer) => recordWith(bytes, { offset: 3 }),
  }))
    it(`is, where an operator allows it and the log is whole: ${name}`, () =>
      withPlace(async (place) => {
        await settled(place);
        await edit(place.disk, offsetPath, change);
        const queue = await place.open({ limits: { autoResetBytesMax: 2 ** 20 } });
        await queue.readBatch(key, { records: 1, bytes: 1e6 }).catch(() => undefined);
        expect((await statusOf(queue, key)).quarantine).toBeNull();
        expect(await pendingNumbers(queue)).toEqual([0, 1]);
        await assertBooks(queue, { dead: 1, pending: 7 });
        expect(await namesIn(place.disk, folder, /^offset\.json\.replaced\./)).toHaveLength(1);
      }));

  it('is not, when the log is larger than what is allowed', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await place.open({ limits: { autoResetBytesMax: 100 } });
      expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_CORRUPT');
      expect(await pendingNumbers(queue, 't')).toEqual([0, 1]);
    }));

  it('is not, when the log is damaged too', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
      const queue = await place.open({ limits: { autoResetBytesMax: 2 ** 20 } });
      expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_CORRUPT');
    }));

  it('is not, when a newer program wrote the record (ING-217)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, offsetPath, (bytes) => recordWith(bytes, { min_reader: 3 }));
      const queue = await place.open({ limits: { autoResetBytesMax: 2 ** 20 } });
      expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_UNSUPPORTED');
    }));
});
