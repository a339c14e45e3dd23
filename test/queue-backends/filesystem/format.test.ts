import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { crc32c, systemChance, systemClock } from '#base';
import { nodeDisk } from '#disk';
import {
  append,
  assertBooks,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { frameHeaderBytes, sealFrame } from '../../../queue-backends/filesystem/journal/frame.ts';
import { segmentHeaderBytes } from '../../../queue-backends/filesystem/journal/segment.ts';
import { openQueue, queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../../support/temporary-root.ts';
import { edit, folderOf, readText, segmentPaths, withPlace } from './place.ts';

const sample = join(import.meta.dirname, '../../disk-format/v1/queue');

describe('a queue folder of format 1', () => {
  it('opens as it was left by a killed process, with every frame kind that has a writer', () =>
    withTemporaryDirectory(async (root) => {
      const directory = join(root, 'queue');
      await cp(sample, directory, { recursive: true });
      const queue = await openQueue({
        disk: nodeDisk(),
        directory,
        clock: systemClock,
        chance: systemChance,
        generation: 4,
        rootId: 'SR-sample',
      });
      await assertBooks(queue, { accepted: 11, applied: 4, dead: 0, discarded: 1, pending: 6 });
      expect(await pendingNumbers(queue, 's')).toEqual([3, 4, 10]);
      expect(await pendingNumbers(queue, 't')).toEqual([]);
      expect((await statusOf(queue, testKey('u'))).quarantine).toMatchObject({
        code: 'RECORD_CORRUPT',
        message: 'a sample of a stopped key',
      });
      const { items } = await queue.readBatch(testKey('v'), { records: 1, bytes: 1e6 });
      expect(JSON.parse(Buffer.from(items[0]?.raw ?? []).toString('utf8'))).toMatchObject({
        data: { text: 'äöü 🚀 \u2028' },
      });
      const letters = await queue.readDeadLetters(testKey('s'));
      expect(letters.map(({ outcome }) => outcome.kind)).toEqual(['requeued', 'discarded']);
      await append(queue, ...numbered('t', 3, 1));
      await queue.close();
    }));

  it('begins with the same bytes on every machine', () =>
    withPlace(async (place) => {
      await place.open();
      const [path = ''] = await segmentPaths(place.disk);
      expect(path).toBe(`${queueDirectory}/journal/0000000001-0000000000.wal`);
      const bytes = Buffer.from((await place.disk.readFile(path)) ?? []);
      const tenure = segmentHeaderBytes + frameHeaderBytes;
      expect(bytes.toString('hex', 0, 60)).toBe(
        '4d494c4c52414345' + // MILLRACE
          '01000000' + // version
          bytes.toString('hex', 12, 16) + // salt
          '0100000000000000' + // generation
          '0000000000000000' + // number
          '0100000000000000' + // first sequence
          '0000000000000000' + // mark
          '000000000000000000000000',
      );
      expect(bytes.toString('utf8', tenure, tenure + 35)).toBe(
        '{"generation":1,"rootId":"SR-test"}',
      );
      expect(bytes.readUInt8(segmentHeaderBytes + 8), 'TENURE').toBe(4);
      const mark = tenure + 40;
      expect(bytes.readUInt8(mark + 8), 'MARK').toBe(3);
      expect(bytes.toString('utf8', mark + frameHeaderBytes)).toMatch(
        /^\{"low":1,"totals":\{"accepted":0,"applied":0,"dead":0,"discarded":0,"duplicates":0,"keys":0\},"active":\[\],"quarantined":\[\],"idle":\[\]\}\0*$/,
      );
      expect(JSON.parse(await readText(place.disk, `${queueDirectory}/format.json`))).toEqual({
        format: 1,
        root_id: 'SR-test',
        graph_id: null,
        created_at: '2026-01-01T00:00:00.000Z',
        key_encoding: 1,
      });
    }));

  it('can be read by a person: one JSON object per line, positions are bytes', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      await queue.close();
      const log = await readText(place.disk, `${folderOf()}/log.000000.jsonl`);
      const lines = log.trimEnd().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { data: unknown }).data)).toEqual([
        { n: 0 },
        { n: 1 },
      ]);
      const record = JSON.parse(await readText(place.disk, `${folderOf()}/offset.json`)) as object;
      expect(record).toMatchObject({
        v: 2,
        workspace: 'w',
        session_id: 's',
        gen: 0,
        base: 0,
        offset: 0,
        log_end: log.length,
        log_records: 2,
      });
    }));
});

describe('binding a root to its graph (ING-540)', () => {
  it('takes the id of the first graph that the root meets, keeps it, and keeps what else stands there', () =>
    withTemporaryDirectory(async (root) => {
      const directory = join(root, 'queue');
      const path = join(directory, 'format.json');
      let generation = 0;
      const bind = async (graphId?: string): Promise<string | null> => {
        generation += 1;
        const queue = await openQueue({
          disk: nodeDisk(),
          directory,
          clock: systemClock,
          chance: systemChance,
          generation,
          rootId: 'SR-1',
          ...(graphId === undefined ? {} : { graphId }),
        });
        await queue.close();
        return queue.bond.graphId;
      };
      expect(await bind()).toBe(null);
      const made = JSON.parse(await readFile(path, 'utf8')) as object;
      await writeFile(path, JSON.stringify({ ...made, of_the_future: 7 }));
      expect(await bind('g1')).toBe('g1');
      expect(await bind('g2')).toBe('g1');
      const kept = JSON.parse(await readFile(path, 'utf8')) as unknown;
      expect(kept).toEqual({ ...made, graph_id: 'g1', of_the_future: 7 });
    }));
});

describe('a journal of a newer version', () => {
  it('is refused by name, and left as it is', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await place.kill();
      const [path = ''] = await segmentPaths(place.disk);
      await edit(place.disk, path, (bytes) => {
        const newer = Buffer.from(bytes);
        newer.writeUInt32LE(2, 8);
        newer.writeUInt32LE(crc32c(newer.subarray(0, 60)), 60);
        return newer;
      });
      const before = await place.disk.readFile(path);
      await expect(place.open()).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' });
      expect(await place.disk.readFile(path)).toEqual(before);
    }));

  it('is refused when it has a frame of an unknown kind: passing it over would lose what it says', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await place.kill();
      const [path = ''] = await segmentPaths(place.disk);
      await edit(place.disk, path, (bytes) => {
        const newer = Buffer.from(bytes);
        const kind = 99 as never;
        const salt = newer.readUInt32LE(12);
        const of = { kind, salt, sequence: 1, tenure: 1, synced: 0, groupIndex: 0, groupCount: 1 };
        sealFrame(newer, segmentHeaderBytes, newer.readUInt32LE(segmentHeaderBytes), of);
        return newer;
      });
      await expect(place.open()).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' });
    }));
});
