import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryDisk, type MemoryDisk } from '#disk';
import { createTranslator } from '#formats';
import { exportFolder, type ExportReport } from '#legacy';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { buildLine, parseEvent } from '#record';
import { flatLine } from '../../src/legacy/flat-line.ts';
import { flatName } from '../../src/legacy/flat-name.ts';
import { readLegacyLetter, readLegacyLine } from '../../src/legacy/read-line.ts';
import { append, drain, kill } from '../contract/queue/steps.ts';
import { withPlace, type Place } from '../queue-backends/filesystem/place.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';

const folder = '/back';

interface Exported {
  readonly report: ExportReport;
  read(name: string): Promise<string>;
  readonly names: readonly string[];
  readonly disk: MemoryDisk;
}

async function exportAll(
  queue: FilesystemQueue,
  options: { readonly workspace?: string; readonly disk?: MemoryDisk } = {},
): Promise<Exported> {
  const { workspace, disk = memoryDisk({ directories: ['/'] }) } = options;
  await queue.checkpoint();
  const needs = { disk, queue, ledger: queue, readLog: queue.readLog };
  const report = await exportFolder(needs, { folder, workspace, onProgress: () => undefined });
  const names = (await disk.readDirectory(folder)).map(({ name }) => name);
  const read = async (name: string): Promise<string> =>
    Buffer.from((await disk.readFile(`${folder}/${name}`)) ?? []).toString('utf8');
  return { report, read, names, disk };
}

async function filled(place: Place, session = 's', workspace = 'w'): Promise<FilesystemQueue> {
  const queue = await place.open();
  const records = [0, 1, 2].map((n) =>
    testRecord({ session, workspace, eventId: `id-${n}`, data: { session_id: session, n } }),
  );
  await append(queue, ...records);
  return queue;
}

describe('the flat form of the predecessor (ING-824)', () => {
  it('has the log, the offset of what is committed as a bare integer, and the dead letters that nobody settled', () =>
    withPlace(async (place) => {
      const queue = await filled(place);
      await drain(queue, 's', 1);
      await kill(queue, 's');
      const { report, read, names } = await exportAll(queue);
      expect(names).toEqual(['s.dead.jsonl', 's.log', 's.offset']);
      const lines = (await read('s.log')).trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
        [0, 1, 2].map((n) => ({
          event: 'test:event',
          workspace: 'w',
          idempotency_key: `id-${n}`,
          data: { session_id: 's', n },
          created_by: 'agent',
        })),
      );
      const two = Buffer.byteLength(`${lines.slice(0, 2).join('\n')}\n`);
      expect(await read('s.offset')).toBe(String(two));
      const letter = readLegacyLetter(Buffer.from((await read('s.dead.jsonl')).trimEnd()));
      expect(letter?.error).toBe('EVENT_CONTRADICTS: it says no');
      expect(Buffer.from(letter?.payload ?? []).toString('utf8')).toBe(lines[1]);
      expect(report).toMatchObject({
        sessions: [{ session: 's', records: 3, offset: two, pending: 1, letters: 1, gone: 0 }],
        not_exported: [],
      });
      await queue.close();
    }));

  it('holds what only the journal held before, and leaves the position where it was', () =>
    withPlace(async (place) => {
      const queue = await filled(place);
      await drain(queue, 's', 2);
      await place.kill();
      const again = await place.open();
      const before = await again.keyStatus(testKey());
      const { report } = await exportAll(again);
      expect(report.sessions).toMatchObject([{ records: 3, pending: 1 }]);
      expect(await again.keyStatus(testKey())).toEqual(before);
      await again.close();
    }));

  it('is written into a new or empty folder alone, and no byte of another is touched', () =>
    withPlace(async (place) => {
      const queue = await filled(place);
      const { disk, read } = await exportAll(queue);
      const log = await read('s.log');
      await append(queue, testRecord({ eventId: 'later' }));
      await expect(exportAll(queue, { disk })).rejects.toMatchObject({
        code: 'EXPORT_TARGET_EXISTS',
      });
      expect(await read('s.log')).toBe(log);
      await queue.close();
    }));

  it('leaves out a second workspace with the same session id, and a key in quarantine, and says so', () =>
    withPlace(async (place) => {
      const queue = await filled(place);
      await append(queue, testRecord({ workspace: 'v' }), testRecord({ session: 'q' }));
      await queue.quarantine(testKey('q'), { code: 'RECORD_CORRUPT', message: 'by hand' });
      const { report } = await exportAll(queue);
      expect(report.sessions.map(({ key }) => key)).toEqual([testKey('s', 'v')]);
      expect(report.not_exported.map(({ key }) => key)).toEqual([testKey('q'), testKey('s')]);
      const own = await exportAll(queue, { workspace: 'w' });
      expect(own.report.sessions.map(({ key }) => key)).toEqual([testKey('s')]);
      await queue.close();
    }));

  it('names files by the session id where that is safe, and never by more than 211 bytes (U7, PQ-16)', () => {
    expect(flatName('a.b:c_d')).toBe('a.b:c_d');
    for (const session of ['a/b', '..', 'ä'.repeat(150), 'a\u0000b'])
      expect(flatName(session)).toMatch(/^[^/\\\p{Cc}]*~[0-9a-f]{16}$/u);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), (session) => {
        const name = flatName(session);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(211);
        expect(name).not.toMatch(/[/\\\p{Cc}]/u);
      }),
    );
  });

  it('gives the same event when it is read again, whatever the client had sent (P5)', () => {
    const text = fc.string({ minLength: 1, maxLength: 20 }).filter((one) => one.trim() !== '');
    const sent = fc.record({
      session: text,
      isInData: fc.boolean(),
      id: fc.option(text, { nil: undefined }),
      data: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 })),
      more: fc.dictionary(fc.stringMatching(/^x_[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 1 })),
    });
    fc.assert(
      fc.property(sent, ({ session, isInData, id, data, more }) => {
        const own = {
          ...data,
          timestamp: '2026-01-01T00:00:00Z',
          session_id: isInData ? session : '',
        };
        const value = {
          event: 'e',
          workspace: 'w',
          session_id: session,
          ...more,
          data: own,
          event_id: id,
        };
        const bytes = Buffer.from(JSON.stringify(value));
        const { event } = parseEvent(JSON.parse(bytes.toString('utf8')) as never, bytes);
        if (event === undefined) return;
        const flat = flatLine(
          buildLine(event, { acceptedAt: '2026-01-01T00:00:00.000Z', by: 'a' }),
        );
        const read = readLegacyLine(Buffer.from(flat ?? ''), createTranslator());
        expect(read).toMatchObject({ kind: 'event', by: 'a' });
        const body = Buffer.from(read.kind === 'event' ? read.body : '');
        const again = parseEvent(JSON.parse(body.toString('utf8')) as never, body).event;
        expect(again?.session).toBe(event.session);
        if (id !== undefined) expect(again?.eventId).toBe(id);
        const data2 = JSON.parse(Buffer.from(again?.dataBytes ?? []).toString('utf8')) as object;
        expect({ ...data2, session_id: '' }).toEqual(
          // As JSON has it: there is no -0.
          JSON.parse(JSON.stringify({ ...own, session_id: '' })),
        );
      }),
    );
  });
});
