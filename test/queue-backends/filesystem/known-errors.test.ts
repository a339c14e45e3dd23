import { describe, expect, it } from 'vitest';
import { canonicalJson, crc32cHex, type JsonValue } from '#base';
import { emptyCursor } from '#record';
import { evidenceKept, keyQuarantined } from '#signals';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { append, drain, numbered, pendingNumbers, statusOf } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { edit, flipAt, folderOf, namesIn, readText, withPlace, type Place } from './place.ts';

const key = testKey();
const folder = folderOf();
const offsetPath = `${folder}/offset.json`;
const logPath = `${folder}/log.000000.jsonl`;

/** Two keys with four records, one of them committed; closed in order, so that all of it is in the session files. */
async function settled(place: Place): Promise<void> {
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 4), ...numbered('t', 0, 4));
  await drain(queue, 's', 1);
  await drain(queue, 't', 1);
  await queue.close();
}

/** The damaged key is stopped with this code, keeps taking events, and says so after a restart; the other one drains. */
async function expectStopped(place: Place, queue: FilesystemQueue, code: string): Promise<void> {
  await queue.readBatch(key, { records: 10, bytes: 1e6 }).catch((error: unknown) => error);
  expect((await statusOf(queue, key)).quarantine?.code).toBe(code);
  await expect(queue.readBatch(key, { records: 10, bytes: 1e6 })).rejects.toMatchObject({
    code: 'SESSION_QUARANTINED',
  });
  expect(await queue.activeKeys()).toEqual([testKey('t')]);
  expect(await pendingNumbers(queue, 't')).toEqual([1, 2, 3]);
  await append(queue, testRecord({ data: { n: 9 } }));
  expect(queue.totals()).toMatchObject({ accepted: 9, applied: 2, pending: 7, quarantinedKeys: 1 });
  await queue.close();
  const again = await place.open();
  expect((await statusOf(again, key)).quarantine?.code).toBe(code);
  expect(again.totals()).toMatchObject({ accepted: 9, applied: 2, pending: 7, quarantinedKeys: 1 });
  await append(again, testRecord({ data: { n: 10 } }));
  expect((await statusOf(again, key)).pending).toBe(5);
  expect(await pendingNumbers(again, 't')).toEqual([1, 2, 3]);
}

/** A whole, sound record with other content. */
function recordWith(bytes: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const { crc: _, ...record } = JSON.parse(bytes.toString('utf8')) as Record<string, JsonValue>;
  const changed = { ...record, ...members } as JsonValue;
  const crc = crc32cHex(Buffer.from(canonicalJson(changed)));
  return Buffer.from(JSON.stringify({ ...(changed as object), crc }));
}

const offsetFaults: Readonly<
  Record<string, { code: string; change: (bytes: Buffer) => Uint8Array }>
> = {
  'is empty (ING-216)': { code: 'OFFSET_CORRUPT', change: () => Buffer.alloc(0) },
  'is cut off': { code: 'OFFSET_CORRUPT', change: (bytes) => bytes.subarray(0, 100) },
  'has a flipped bit (ING-P03)': {
    code: 'OFFSET_CORRUPT',
    change: (bytes) => flipAt(bytes, '"offset":'),
  },
  'is a number in a form that JSON.parse takes (ING-215)': {
    code: 'OFFSET_CORRUPT',
    change: () => Buffer.from('1e3'),
  },
  'is not UTF-8 (ING-218)': {
    code: 'OFFSET_CORRUPT',
    change: (bytes) =>
      Buffer.concat([bytes.subarray(0, 20), Buffer.from([0xff]), bytes.subarray(21)]),
  },
  'needs a newer reader (ING-217)': {
    code: 'OFFSET_UNSUPPORTED',
    change: (bytes) => recordWith(bytes, { min_reader: 3 }),
  },
  'has a cursor that cannot be built': {
    code: 'OFFSET_CORRUPT',
    change: (bytes) => recordWith(bytes, { cursor: { schema: 1 } }),
  },
  'stands beyond its log (ING-404)': {
    code: 'OFFSET_BEYOND_LOG',
    change: (bytes) => recordWith(bytes, { offset: 100_000 }),
  },
};

describe('a damaged offset record', () => {
  for (const [name, { code, change }] of Object.entries(offsetFaults))
    it(`stops its key alone when it ${name} (P7, ING-405…411)`, () =>
      withPlace(async (place) => {
        await settled(place);
        await edit(place.disk, offsetPath, change);
        const damaged = await readText(place.disk, offsetPath);
        const told: string[] = [];
        const end = keyQuarantined.subscribe((message) => told.push(message.code));
        const queue = await place.open();
        end();
        expect(told).toEqual([code]);
        await expectStopped(place, queue, code);
        if (code === 'OFFSET_CORRUPT')
          expect(await readText(place.disk, offsetPath), 'it is evidence').toBe(damaged);
        const copies = await namesIn(place.disk, folder, /^(offset\.json|log.*)\.corrupt\./);
        expect(copies.length).toBe(1);
        expect(await namesIn(place.disk, folder, /^quarantine\.json$/)).toHaveLength(1);
      }));

  it('is told anew by a newer commit in the journal (C9)', () =>
    withPlace(async (place) => {
      await settled(place);
      const queue = await place.open();
      await append(queue, ...numbered('s', 4, 1));
      await drain(queue, 's', 2);
      await place.kill();
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const again = await place.open();
      expect(await statusOf(again, key)).toMatchObject({
        quarantine: null,
        pending: 2,
        applied: 3,
      });
      expect(await pendingNumbers(again)).toEqual([3, 4]);
      expect(await namesIn(place.disk, folder, /^offset\.json\.corrupt\./)).toHaveLength(1);
      expect(again.totals()).toMatchObject({ accepted: 9, applied: 4, pending: 5 });
      await again.close();
      expect(await pendingNumbers(await place.open())).toEqual([3, 4]);
    }));
});

describe('a damaged session log', () => {
  it('stops its key when the committed offset is not the end of a record (ING-404)', () =>
    withPlace(async (place) => {
      await settled(place);
      const { offset } = JSON.parse(await readText(place.disk, offsetPath)) as { offset: number };
      await edit(place.disk, offsetPath, (bytes) => recordWith(bytes, { offset: offset + 3 }));
      await expectStopped(place, await place.open(), 'OFFSET_MISALIGNED');
    }));

  it('stops its key at a line whose crc fails, and cuts nothing (P7, QFS-10, C44)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
      const damaged = await readText(place.disk, logPath);
      await expectStopped(place, await place.open(), 'RECORD_CORRUPT');
      expect((await readText(place.disk, logPath)).startsWith(damaged)).toBe(true);
      const [copy] = await namesIn(place.disk, folder, /^log\..*\.corrupt\./);
      expect(await readText(place.disk, `${folder}/${copy}`)).toBe(damaged);
    }));

  it('is read up to its first damaged line, which stops the key only when it is the next to be read (SC-002)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":2'));
      const queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([1]);
      expect((await statusOf(queue, key)).quarantine).toBeNull();
      await drain(queue, 's', 1);
      await expect(queue.readBatch(key, { records: 10, bytes: 1e6 })).rejects.toMatchObject({
        code: 'RECORD_CORRUPT',
      });
      expect((await statusOf(queue, key)).quarantine?.code).toBe('RECORD_CORRUPT');
    }));

  it('stops its key when it ends before its checkpointed end, and gives no position again (P2, P7)', () =>
    withPlace(async (place) => {
      await settled(place);
      const before = await readText(place.disk, logPath);
      await edit(place.disk, logPath, (bytes) => bytes.subarray(0, bytes.length - 10));
      const queue = await place.open();
      const [position] = await append(queue, testRecord({ data: { n: 8 } }));
      expect(position).toContain(`.${before.length.toString(16).padStart(14, '0')}.`);
      await queue.close();
      const again = await place.open();
      expect((await statusOf(again, key)).quarantine?.code).toBe('RECORD_CORRUPT');
      expect((await statusOf(again, key)).pending).toBe(4);
    }));

  it('stops its key when it is gone', () =>
    withPlace(async (place) => {
      await settled(place);
      await place.disk.unlink(logPath);
      await expectStopped(place, await place.open(), 'RECORD_CORRUPT');
    }));

  it('is written anew where the journal still has its records (C44, QFS-20)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 3));
      await place.clock.advance(500);
      await place.kill();
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
      const again = await place.open();
      expect(await pendingNumbers(again)).toEqual([0, 1, 2]);
      expect((await statusOf(again, key)).quarantine).toBeNull();
    }));
});

describe('a damaged generation file', () => {
  for (const [name, change] of Object.entries({
    missing: undefined,
    damaged: (bytes: Buffer) => flipAt(bytes, '"epoch"'),
  }))
    it(`stops its key when it is ${name} (ING-404)`, () =>
      withPlace(async (place) => {
        await settled(place);
        const path = `${folder}/generation.000000.json`;
        if (change === undefined) await place.disk.unlink(path);
        else await edit(place.disk, path, change);
        await expectStopped(place, await place.open(), 'LOG_GENERATION_MISSING');
      }));
});

describe('other damage in a session folder', () => {
  it('skips a dead letter that cannot be read, and tells of it (ING-414)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      const { items } = await queue.readBatch(key, { records: 2, bytes: 1e6 });
      const error = { code: 'EVENT_CONTRADICTS', message: 'no' };
      for (const item of items)
        await queue.deadLetter(
          key,
          [{ at: item.at, raw: item.raw, attempts: 1, error }],
          item.after,
          emptyCursor(),
        );
      await queue.close();
      const path = `${folder}/dead.jsonl`;
      await edit(place.disk, path, (bytes) => Buffer.concat([Buffer.from('{"v":1,\n'), bytes]));
      const told: string[] = [];
      const end = evidenceKept.subscribe((message) => told.push(message.path));
      const again = await place.open();
      expect(await again.readDeadLetters(key)).toHaveLength(2);
      end();
      expect(told).toContain(path);
      expect(await readText(place.disk, path)).toMatch(/^\{"v":1,\n/);
    }));

  it('stops a key whose marker cannot be read', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, `${folder}/quarantine.json`, () => Buffer.from('{'));
      const queue = await place.open();
      expect((await statusOf(queue, key)).quarantine).not.toBeNull();
      expect(await queue.activeKeys()).toEqual([testKey('t')]);
    }));

  it('takes away what a killed process had staged, and tells whose it was (ING-232)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await place.clock.advance(500);
      await place.kill();
      const stale = `${offsetPath}.77-0123456789abcdef-3.tmp`;
      await edit(place.disk, stale, () => Buffer.from('half'));
      const told: string[] = [];
      const end = evidenceKept.subscribe((message) => told.push(message.reason));
      await place.open();
      end();
      expect(await namesIn(place.disk, folder, /\.tmp$/)).toEqual([]);
      expect(told.join()).toContain(`process 77 ended while it wrote ${offsetPath}`);
    }));
});

describe('a folder that is not ours', () => {
  const path = `${queueDirectory}/format.json`;
  const refused: Readonly<Record<string, { code: string; text: string }>> = {
    'a newer format': {
      code: 'FORMAT_TOO_NEW',
      text: '{"format":2,"root_id":"SR-test","key_encoding":1}',
    },
    'newer keys': {
      code: 'FORMAT_TOO_NEW',
      text: '{"format":1,"root_id":"SR-test","key_encoding":9}',
    },
    'another root': {
      code: 'QUEUE_FOREIGN',
      text: '{"format":1,"root_id":"SR-other","key_encoding":1}',
    },
    'no JSON': { code: 'QUEUE_FOREIGN', text: 'format' },
  };
  for (const [name, { code, text }] of Object.entries(refused))
    it(`is refused and left alone when format.json has ${name}`, () =>
      withPlace(async (place) => {
        await settled(place);
        await edit(place.disk, path, () => Buffer.from(text));
        await expect(place.open()).rejects.toMatchObject({ code, disposition: 'fatal' });
        expect(await readText(place.disk, path)).toBe(text);
      }));

  it('is refused when it has a journal and no format.json', () =>
    withPlace(async (place) => {
      await settled(place);
      await place.disk.unlink(path);
      await expect(place.open()).rejects.toMatchObject({ code: 'QUEUE_FOREIGN' });
    }));

  it('is refused to a generation that is not above the journal (P6, QFS-40)', () =>
    withPlace(async (place) => {
      await settled(place);
      await expect(place.open({ generation: 1 })).rejects.toMatchObject({ code: 'FENCE_STALE' });
      await expect(place.open({ generation: 9, isLive: () => false })).rejects.toMatchObject({
        code: 'TENURE_LOST',
      });
    }));
});
