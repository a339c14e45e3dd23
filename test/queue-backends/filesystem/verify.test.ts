import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failingDisk, type Disk } from '#disk';
import { append, drain, kill, numbered } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { clear, settled, stopped } from './stopped-key.ts';
import { edit, flipAt, folderOf, segmentPaths, withPlace, type Place } from './place.ts';
import { filled, verify } from './verified.ts';

/** Nothing was written, made or taken away. */
async function snapshot(disk: Disk, path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, kind } of await disk.readDirectory(path)) {
    const full = join(path, name);
    if (kind === 'directory') Object.assign(found, await snapshot(disk, full));
    else found[full] = Buffer.from((await disk.readFile(full)) ?? []).toString('base64');
  }
  return found;
}

const log = `${folderOf()}/log.000000.jsonl`;
const record = `${folderOf()}/offset.json`;
const generation = `${folderOf()}/generation.000000.json`;
const dead = `${folderOf()}/dead.jsonl`;

function text(change: (text: string) => string): (bytes: Buffer) => Uint8Array {
  return (bytes) => Buffer.from(change(bytes.toString('latin1')), 'latin1');
}

async function make(disk: Disk, path: string, content: string): Promise<void> {
  const file = await disk.open(path, 'create');
  await file.writeAt([Buffer.from(content)], 0);
  await file.close();
}

type Damage = (place: Place) => Promise<void>;

const damages: readonly (readonly [name: string, codes: readonly string[], damage: Damage])[] = [
  [
    'a flipped bit in a log line (G46)',
    ['line_corrupt'],
    (place) => edit(place.disk, log, (bytes) => flipAt(bytes, '"n":1')),
  ],
  [
    'a torn tail behind the last line (U1)',
    ['torn_tail'],
    (place) => edit(place.disk, log, (bytes) => Buffer.concat([bytes, Buffer.from('{"v":1,"ev')])),
  ],
  [
    'NULs behind the last line',
    ['torn_tail'],
    (place) => edit(place.disk, log, (bytes) => Buffer.concat([bytes, Buffer.alloc(4096)])),
  ],
  [
    'a log that ends before its checkpointed end, in the middle of a line (C18)',
    ['line_corrupt', 'log_short'],
    (place) => edit(place.disk, log, (bytes) => bytes.subarray(0, bytes.length - 10)),
  ],
  [
    'a log that ends before its offset (U4, C18)',
    ['log_short', 'offset_beyond_log'],
    (place) => edit(place.disk, log, (bytes) => bytes.subarray(0, bytes.indexOf('\n') + 1)),
  ],
  ['a log that is gone', ['log_missing', 'offset_beyond_log'], (place) => place.disk.unlink(log)],
  [
    'an empty offset record (U3, ING-216)',
    ['record_corrupt'],
    (place) => edit(place.disk, record, () => Buffer.alloc(0)),
  ],
  [
    'NULs for an offset record (U2)',
    ['record_corrupt'],
    (place) => edit(place.disk, record, (bytes) => Buffer.alloc(bytes.length)),
  ],
  [
    'an offset record with another number in it',
    ['record_corrupt'],
    (place) =>
      edit(
        place.disk,
        record,
        text((was) => was.replace(/"offset":\d+/, '"offset":7')),
      ),
  ],
  [
    'an offset record of a later reader (ING-217)',
    ['record_unsupported'],
    (place) =>
      edit(
        place.disk,
        record,
        text((was) => was.replace('"min_reader":2', '"min_reader":3')),
      ),
  ],
  ['an offset record that is gone', ['record_missing'], (place) => place.disk.unlink(record)],
  [
    'a generation file that is gone',
    ['generation_missing'],
    (place) => place.disk.unlink(generation),
  ],
  [
    'a damaged generation file',
    ['generation_corrupt'],
    (place) => edit(place.disk, generation, (bytes) => flipAt(bytes, '"base"')),
  ],
  [
    'a quarantine marker (ING-410)',
    ['quarantined'],
    (place) =>
      make(place.disk, `${folderOf()}/quarantine.json`, '{"v":1,"code":"X","message":"m"}'),
  ],
  [
    'a torn line of dead letters (U6, ING-414)',
    ['dead_unreadable'],
    (place) => make(place.disk, dead, '{"v":1,"id":"w~s'),
  ],
  [
    'a file that nobody knows',
    ['file_unknown'],
    (place) => make(place.disk, `${folderOf()}/notes.txt`, 'mine'),
  ],
  [
    'a folder in a shard that is not its own',
    ['folder_misplaced', 'key_mismatch'],
    async (place) => {
      const bytes = Buffer.from((await place.disk.readFile(record)) ?? []);
      const strange = `${queueDirectory}/sessions/00/w~z`;
      await place.disk.makeDirectory(strange);
      await make(place.disk, `${strange}/offset.json`, bytes.toString('utf8'));
      const of = Buffer.from((await place.disk.readFile(generation)) ?? []);
      await make(place.disk, `${strange}/generation.000000.json`, of.toString('utf8'));
      const lines = Buffer.from((await place.disk.readFile(log)) ?? []);
      await make(place.disk, `${strange}/log.000000.jsonl`, lines.toString('utf8'));
    },
  ],
  [
    'a folder whose name is no key',
    ['folder_unknown'],
    (place) => place.disk.makeDirectory(`${queueDirectory}/sessions/00/no key`),
  ],
  [
    'a journal that is gone (QFS-13)',
    ['journal_missing'],
    async (place) => {
      for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
    },
  ],
  [
    'a damaged segment header, which hides the frames behind it',
    ['journal_behind', 'segment_header_damaged'],
    async (place) => {
      for (const path of await segmentPaths(place.disk))
        await edit(place.disk, path, (bytes) => flipAt(bytes, 'MILLRACE'));
    },
  ],
];

describe('queue verify (ING-921)', () => {
  it('finds nothing in a queue that was closed in order, and tells its positions', () =>
    withPlace(async (place) => {
      await filled(place);
      const { codes, notes, summary, keys } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], []]);
      expect(summary).toMatchObject({ keys: 2, records: 4, pending: 2, dead: 0, quarantined: 0 });
      expect(keys.find(({ session }) => session === 's')).toMatchObject({
        state: 'open',
        record_version: 2,
        gen: 0,
        base: 0,
        is_aligned: true,
        records: 3,
        pending: 1,
      });
    }));

  it('counts what only the journal holds after a kill, and calls none of it a finding (P10)', () =>
    withPlace(async (place) => {
      await filled(place);
      const queue = await place.open();
      await append(queue, ...numbered('s', 3, 4));
      await append(queue, ...numbered('u', 0, 2));
      await drain(queue, 's', 3);
      await place.kill();
      const { codes, summary, keys } = await verify(place.disk);
      expect(codes).toEqual([]);
      expect(summary).toMatchObject({ keys: 3, records: 10, pending: 5 });
      expect(keys.find(({ session }) => session === 's')).toMatchObject({ records: 7, pending: 2 });
    }));

  it('takes a tail that the journal holds for no finding (QFS-20)', () =>
    withPlace(async (place) => {
      await filled(place);
      const queue = await place.open();
      await append(queue, ...numbered('s', 3, 1));
      await place.kill();
      await edit(place.disk, log, (bytes) => Buffer.concat([bytes, Buffer.from('{"v":1,"s')]));
      const { codes, notes } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], ['torn_tail']]);
    }));

  it('takes a damaged offset record for no finding where a newer frame tells it (C9)', () =>
    withPlace(async (place) => {
      await filled(place);
      const queue = await place.open();
      await drain(queue, 's', 1);
      await place.kill();
      await edit(place.disk, record, () => Buffer.alloc(0));
      const { codes, notes } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], ['record_corrupt']]);
    }));

  it.each(damages)('finds %s', (_name, codes, damage) =>
    withPlace(async (place) => {
      await filled(place);
      await damage(place);
      const before = await snapshot(place.disk, queueDirectory);
      const found = await verify(place.disk);
      expect(found.codes).toEqual(codes);
      expect(await snapshot(place.disk, queueDirectory)).toEqual(before);
    }),
  );

  it.each([
    [
      'a log of a generation that the record does not name (C14, C29)',
      'orphan_generation',
      `${folderOf()}/log.000001.jsonl`,
    ],
    [
      'staging of a write that did not end (ING-232)',
      'staging_leftover',
      `${record}.99-00112233aabbccdd-1.tmp`,
    ],
    [
      'staging beside the journal (ING-232)',
      'staging_leftover',
      `${queueDirectory}/journal/x.json.99-00112233aabbccdd-1.tmp`,
    ],
  ])('tells %s as a note: the next start takes it away', (_name, code, path) =>
    withPlace(async (place) => {
      await filled(place);
      await make(place.disk, path, 'half');
      const { codes, notes } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], [code]]);
    }),
  );

  it('finds an offset in the middle of a record (U5, ING-404)', () =>
    withPlace(async (place) => {
      await filled(place);
      const bytes = Buffer.from((await place.disk.readFile(log)) ?? []);
      const second = bytes.indexOf('\n', bytes.indexOf('\n') + 1);
      // One line of three, made of two: the offset stands where one of them began.
      await edit(place.disk, log, () => {
        const joined = Buffer.from(bytes);
        joined[second] = 0x20;
        return joined;
      });
      const { codes } = await verify(place.disk);
      expect(codes).toEqual(['line_corrupt', 'offset_misaligned']);
    }));

  it('finds damage between synced frames of the journal, and a torn group at its end (QFS-06)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      for (let n = 0; n < 3; n += 1) await append(queue, ...numbered('s', n, 1));
      await place.kill();
      const [path = ''] = await segmentPaths(place.disk);
      await edit(place.disk, path, (bytes) => flipAt(bytes, '"n":1'));
      expect((await verify(place.disk)).codes).toEqual(['journal_damaged']);
      await edit(place.disk, path, (bytes) => flipAt(bytes, '#n":1'));
      await edit(place.disk, path, (bytes) => flipAt(bytes, '"n":2'));
      expect((await verify(place.disk)).codes).toEqual(['journal_torn']);
    }));

  it('finds dead letters ahead of the committed position (QFS-22, C11)', () =>
    withPlace(async (place) => {
      await filled(place);
      const before = await place.disk.readFile(record);
      const queue = await place.open();
      await kill(queue, 's');
      await queue.close();
      expect((await verify(place.disk)).codes).toEqual([]);
      // The journal is lost, and the record with it is an older one.
      await edit(place.disk, record, () => before ?? new Uint8Array());
      for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
      expect((await verify(place.disk)).codes).toEqual(['dead_ahead', 'journal_missing']);
      await edit(place.disk, dead, (bytes) => flipAt(bytes, 'test:event'));
      expect((await verify(place.disk)).codes).toContain('dead_digest');
    }));

  it('finds an older journal in the place of the one that the records know', () =>
    withPlace(async (place) => {
      await filled(place);
      const old = new Map<string, Uint8Array>();
      for (const path of await segmentPaths(place.disk))
        old.set(path, (await place.disk.readFile(path)) ?? new Uint8Array());
      const queue = await place.open();
      await drain(queue, 's', 1);
      await queue.close();
      for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
      for (const [path, bytes] of old)
        await make(place.disk, path, Buffer.from(bytes).toString('latin1'));
      const { codes } = await verify(place.disk);
      expect(codes).toContain('journal_behind');
    }));

  it('keeps evidence out of the findings: it is there on purpose (P7)', () =>
    withPlace(async (place) => {
      await filled(place);
      await make(place.disk, `${log}.torn.20260101T000000000Z.0a0b0c0d`, 'x');
      const { codes, notes } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], ['evidence_kept']]);
    }));

  it('takes a damaged range that an operator has passed over for no finding: its bytes are a letter (ING-412)', () =>
    withPlace(async (place) => {
      await settled(place);
      await edit(place.disk, log, (bytes) => flipAt(bytes, '"n":4'));
      expect((await verify(place.disk)).codes).toEqual(['line_corrupt']);
      const queue = await stopped(place, 'RECORD_CORRUPT');
      await clear(queue, 'pass-over');
      await place.kill();
      const killed = await verify(place.disk);
      expect(killed.codes).toEqual([]);
      const again = await place.open();
      await again.close();
      const { codes, notes, summary } = await verify(place.disk);
      expect([codes, notes]).toEqual([[], ['evidence_kept', 'line_corrupt']]);
      expect(summary).toMatchObject({ dead: 2, quarantined: 0 });
    }));

  it('beside a running daemon tells what it is in the middle of as a note, and damage as a finding', () =>
    withPlace(async (place) => {
      await filled(place);
      await edit(place.disk, log, (bytes) => Buffer.concat([bytes, Buffer.from('{"v":1')]));
      await make(place.disk, `${record}.99-00112233aabbccdd-1.tmp`, 'half');
      const live = await verify(place.disk, true);
      expect([live.codes, live.notes]).toEqual([[], ['staging_leftover', 'torn_tail']]);
      await edit(place.disk, log, (bytes) => flipAt(bytes, '"n":1'));
      expect((await verify(place.disk, true)).codes).toEqual(['line_corrupt']);
    }));

  it('opens nothing for writing, whatever it finds', () =>
    withPlace(async (place) => {
      await filled(place);
      const disk = failingDisk(place.disk);
      const calls = ['writeAt', 'sync', 'truncate', 'rename', 'unlink', 'makeDirectory'] as const;
      disk.plan([{ code: 'EROFS', calls, times: Number.POSITIVE_INFINITY }]);
      expect((await verify(disk)).codes).toEqual([]);
      expect(disk.failureCount()).toBe(0);
    }));

  it.each([
    ['a newer form', '{"format":2,"root_id":"SR-test","key_encoding":1}', 'FORMAT_TOO_NEW'],
    ['another root', '{"format":1,"root_id":"SR-other","key_encoding":1}', 'QUEUE_FOREIGN'],
    ['no JSON', 'garbage', 'QUEUE_FOREIGN'],
  ])('refuses %s', (_name, format, code) =>
    withPlace(async (place) => {
      await filled(place);
      await edit(place.disk, `${queueDirectory}/format.json`, () => Buffer.from(format));
      await expect(verify(place.disk)).rejects.toMatchObject({ code });
    }),
  );
});
