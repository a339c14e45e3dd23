import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import { namesIn, readText, withPlace, type Place } from '../queue-backends/filesystem/place.ts';
import {
  append,
  assertBooks,
  cursorAt,
  drain,
  everything,
  kill,
  numbered,
  pendingNumbers,
  statuses,
} from '../contract/queue/steps.ts';
import { seededChance } from '../support/chance.ts';
import { queueDirectory, smallLimits } from '../support/filesystem-queue.ts';
import { testKey, testRecord, type Queue } from '../support/queue-fixtures.ts';

const withId = (eventId: string, text = ''): ReturnType<typeof testRecord> =>
  testRecord({ eventId, data: { eventId, text } });

/** Commits everything that waits, key by key. */
async function drainAll(queue: Queue): Promise<void> {
  for (const key of await queue.activeKeys()) {
    const { items } = await queue.readBatch(key, everything);
    const last = items.at(-1);
    const status = await queue.keyStatus(key);
    if (last !== undefined)
      await queue.commit(key, last.after, cursorAt((status?.applied ?? 0) + items.length), null);
  }
}

/** Power is lost: what was not synced is gone. */
function losePower(place: Place, seed: number): void {
  place.disk = place.disk.afterPowerLoss({
    bytes: 'lost',
    entries: 'lost',
    failedSyncs: 'lost',
    chance: seededChance(seed),
  });
}

describe('acknowledged', () => {
  it('SC-005 means on disk: fifty times the power goes, whatever was not synced with it, and no receipt is missing (P1)', () =>
    withPlace(async (place) => {
      let accepted = 0;
      for (let round = 0; round < 50; round += 1) {
        const queue = await place.open();
        await append(queue, ...numbered(`s${round % 7}`, accepted, 1 + (round % 4)));
        accepted += 1 + (round % 4);
        if (round % 9 === 8) await queue.checkpoint();
        losePower(place, round);
      }
      const queue = await place.open();
      await assertBooks(queue, { accepted, pending: accepted });
    }));
});

describe('duplicates', () => {
  for (const code of ['ENOSPC', 'EIO'])
    it(`SC-016 U8 an append that fails by ${code} leaves no id behind: the same event is stored when it comes again`, () =>
      withPlace(async (place) => {
        const disk = failingDisk(place.disk);
        const queue = await place.open({ disk });
        await append(queue, withId('first'));
        disk.plan([{ code, path: /\.wal$/, times: Number.POSITIVE_INFINITY }]);
        await expect(queue.append([withId('k')])).rejects.toMatchObject({ disposition: 'retry' });
        disk.heal();
        await place.clock.advance(3_000);
        expect(await statuses(queue, [withId('k')])).toEqual(['queued']);
        expect(await statuses(queue, [withId('k')])).toEqual(['duplicate']);
        await assertBooks(queue, { accepted: 2, pending: 2 });
      }));

  it('SC-017 are known after a crash as before it, and after ten thousand others', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, withId('k'));
      await place.kill();
      const second = await place.open();
      expect(await statuses(second, [withId('k')])).toEqual(['duplicate']);
      for (let from = 0; from < 10_000; from += 1000)
        await append(
          second,
          ...Array.from({ length: 1000 }, (_, at) => withId(`other-${from + at}`)),
        );
      await drainAll(second);
      await second.checkpoint();
      await place.kill();
      const third = await place.open();
      expect(await statuses(third, [withId('k'), withId('other-17')])).toEqual([
        'duplicate',
        'duplicate',
      ]);
      await assertBooks(third, { accepted: 10_001, applied: 10_001 });
    }));

  it('SC-019 a batch over the quota is refused as a whole, and repeated until it fits it adds each event once', () =>
    withPlace(async (place) => {
      const queue = await place.open({ limits: { bytesPerKeyMax: 60_000 } });
      const batch = Array.from({ length: 250 }, (_, at) => withId(`e${at}`));
      await append(queue, ...batch);
      const whole = [...batch, ...Array.from({ length: 250 }, (_, at) => withId(`f${at}`, 'x'))];
      await expect(queue.append(whole)).rejects.toMatchObject({ code: 'BACKLOG_FULL' });
      await assertBooks(queue, { accepted: 250 });
      await drainAll(queue);
      expect((await statuses(queue, whole)).filter((status) => status === 'queued')).toHaveLength(
        250,
      );
      await drainAll(queue);
      await assertBooks(queue, { accepted: 500, applied: 500, pending: 0 });
    }));
});

describe('limits', () => {
  it('SC-022 lowered below what waits: the start goes on, admissions are refused, the backlog drains, then they are taken again', () =>
    withPlace(async (place) => {
      const text = 'x'.repeat(10_000);
      const first = await place.open();
      for (let at = 0; at < 100; at += 1)
        await append(first, testRecord({ session: `s${at % 10}`, data: { at, text } }));
      await place.kill();
      const limits = { bytesMax: 500_000, bytesPerKeyMax: 50_000 };
      const second = await place.open({ limits });
      await assertBooks(second, { accepted: 100, pending: 100 });
      for (const session of ['s0', 'new'])
        await expect(
          second.append([testRecord({ session, data: { text } })]),
        ).rejects.toMatchObject({ disposition: 'retry' });
      await drainAll(second);
      await append(second, testRecord({ session: 's0', data: { text } }));
      await assertBooks(second, { accepted: 101, applied: 100, pending: 1 });
    }));

  it('SC-030 four times the quota is posted: what was accepted is applied, pending or dead, exactly, and nothing is dropped for room', () =>
    withPlace(async (place) => {
      const bytesMax = 500_000;
      const queue = await place.open({ limits: { bytesMax } });
      const chance = seededChance(30);
      let accepted = 0;
      let refused = 0;
      const text = 'x'.repeat(5_000);
      for (let at = 0; at < 400; at += 1) {
        const record = testRecord({ session: `s${at % 5}`, data: { n: at, text } });
        await queue.append([record]).then(
          () => (accepted += 1),
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'QUEUE_FULL' });
            refused += 1;
          },
        );
        if (chance.float() < 0.25 && (await queue.activeKeys()).length > 0) {
          const [key] = await queue.activeKeys();
          const session = `s${String(key).slice(-1)}`;
          if (chance.float() < 0.3) await kill(queue, session);
          else await drain(queue, session, 1);
        }
        expect(queue.totals().backlogBytes).toBeLessThanOrEqual(bytesMax);
      }
      expect(refused).toBeGreaterThan(10);
      await assertBooks(queue, { accepted });
      await place.kill();
      const again = await place.open();
      await assertBooks(again, { accepted });
      expect(again.totals().dead).toBeGreaterThan(0);
    }));

  it('SC-031 one noisy session gets 429 at its quota while the others are still taken, and by default there is a quota', () =>
    withPlace(async (place) => {
      const queue = await place.open({ limits: { bytesPerKeyMax: 50_000 } });
      const text = 'x'.repeat(10_000);
      const noisy = testRecord({ session: 'noisy', data: { text } });
      for (let at = 0; at < 4; at += 1) await append(queue, noisy);
      await expect(queue.append([noisy])).rejects.toMatchObject({
        code: 'BACKLOG_FULL',
        details: { keys: [testKey('noisy')] },
      });
      await append(queue, testRecord({ session: 'quiet', data: { text } }));
      for (const limit of [smallLimits.bytesMax, smallLimits.bytesPerKeyMax])
        expect(limit).toBeGreaterThan(0);
    }));
});

describe('dead letters', () => {
  it('SC-032 are the same fifty, byte for byte, after three restarts and other settings', () =>
    withPlace(async (place) => {
      const first = await place.open();
      for (let at = 0; at < 50; at += 1) {
        await append(first, ...numbered(`s${at % 5}`, at, 1));
        await kill(first, `s${at % 5}`);
      }
      const lettersOf = async (queue: Queue): Promise<string> => {
        const all = [];
        for (let at = 0; at < 5; at += 1) all.push(await queue.readDeadLetters(testKey(`s${at}`)));
        return JSON.stringify(all);
      };
      const before = await lettersOf(first);
      await first.close();
      for (let round = 0; round < 3; round += 1) {
        const limits = { bytesMax: 2 ** (22 + round), reserveBytes: round * 1024 };
        const queue = await place.open({ limits });
        expect(await lettersOf(queue)).toBe(before);
        await assertBooks(queue, { accepted: 50, dead: 50 });
        if (round === 1) await place.kill();
        else await queue.close();
      }
    }));
});

describe('a restart', () => {
  it('SC-010 delivers again what was taken and not committed, in order', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 10));
      await drain(first, 's', 4);
      await first.readBatch(testKey('s'), everything);
      await place.kill();
      const second = await place.open();
      expect(await pendingNumbers(second)).toEqual([4, 5, 6, 7, 8, 9]);
    }));

  it('SC-021 holds little of a large backlog in memory: lines are in their files before the next ones are read (ING-826, P9)', () =>
    withPlace(async (place) => {
      const limits = { bytesMax: 2 ** 30, bytesPerKeyMax: 2 ** 30, segmentBytes: 4 * 2 ** 20 };
      const first = await place.open({ limits });
      const text = 'x'.repeat(100_000);
      for (let at = 0; at < 90; at += 1)
        await append(first, testRecord({ session: `s${at % 3}`, data: { n: at, text } }));
      await place.kill();
      for (const name of await namesIn(place.disk, `${queueDirectory}/journal`, /\.wal$/))
        expect(name).toMatch(/^\d/);
      const second = await place.open({ limits });
      await assertBooks(second, { accepted: 90, pending: 90 });
      expect(place.disk.openPaths().length).toBeLessThan(20);
      const { items } = await second.readBatch(testKey('s0'), { records: 1000, bytes: 1_000_000 });
      expect(items.length).toBeLessThanOrEqual(11);
      expect(await readText(place.disk, `${queueDirectory}/format.json`)).toContain('"format": 1');
    }));
});
