import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { memoryDisk } from '#disk';
import { createIngest } from '#ingest';
import { importFolder, type ImportOptions, type ImportReport, type RefusedLine } from '#legacy';
import { parseOffset } from '#queue-backends/filesystem';
import { openDrain, type DrainFixture } from '../drain/drain-fixture.ts';
import { limitsDefault } from '../ingest/ingest-fixture.ts';
import { legacyLetter, legacyLine, legacyLog } from '../support/legacy-folder.ts';
import { testKey } from '../support/queue-fixtures.ts';

const folder = '/queues';

interface Imported {
  readonly report: ImportReport;
  readonly refused: readonly RefusedLine[];
}

/** A folder in memory, and a queue with its drain that it is imported into as often as a test likes. */
class Place {
  readonly #disk = memoryDisk({ directories: [folder] });
  #generation = 1;
  #runs: DrainFixture = openDrain();

  get queue(): DrainFixture['queue'] {
    return this.#runs.queue;
  }

  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      const file = await this.#disk.open(`${folder}/${name}`, 'write');
      await file.truncate(0);
      await file.writeAt([Buffer.from(content, 'utf8')], 0);
      await file.close();
    }
  }

  async import(options: Partial<ImportOptions> = {}): Promise<Imported> {
    // Each import ends its drain, as the end of a process does.
    const fixture = this.#runs;
    const { queue, drain } = fixture;
    const ingest = createIngest({
      queue,
      ledger: queue,
      clock: systemClock,
      limits: limitsDefault,
      keyEncoding: 'plain',
      onAppended: (key) => drain.wake(key),
    });
    const refused: RefusedLine[] = [];
    const report = await importFolder(
      {
        disk: this.#disk,
        clock: systemClock,
        ingest,
        queue,
        ledger: queue,
        drain,
        keyEncoding: 'plain',
        eventBytesMax: limitsDefault.eventBytesMax,
        parseOffset: (bytes) => {
          const parsed = parseOffset(bytes);
          return parsed.kind === 'native'
            ? { kind: 'native', offset: parsed.record.offset }
            : parsed;
        },
        forgetIds: () => Promise.reject(new Error('nobody asked for it')),
        stopDrain: async () => void (await drain.stop(1000)),
      },
      { folder, onRefused: (line) => refused.push(line), onProgress: () => undefined, ...options },
    );
    this.#generation += 1;
    this.#runs = openDrain({ world: fixture.world, generation: this.#generation });
    return { report, refused };
  }

  async dispose(): Promise<void> {
    await this.#runs.close();
  }
}

async function withPlace(use: (place: Place) => Promise<void>): Promise<void> {
  const place = new Place();
  try {
    await use(place);
  } finally {
    await place.dispose();
  }
}

const bytesOf = (session: string, count: number): number =>
  Buffer.byteLength(legacyLog(session, count));

describe('an import of a folder of the predecessor', () => {
  it('tells each damaged line with file, line and byte, keeps it, and takes all others (U1, PQ-04, PQ-15)', () =>
    withPlace(async (place) => {
      const torn = legacyLine({ n: 1 }).slice(0, 40);
      const lines = [
        '\0'.repeat(20),
        legacyLine({ n: 0 }),
        `${torn}${legacyLine({ n: 2 })}`,
        '{"event":"e","workspace":"w","data":{"session_id":"A"}}',
        legacyLine({ n: 3 }),
        torn,
      ];
      await place.write({ 'A.log': lines.join('\n') });
      const { report, refused } = await place.import();
      expect(report.sessions).toMatchObject([{ lines: 6, queued: 2, refused: 4 }]);
      const told = refused.toSorted((a, b) => a.line - b.line);
      expect(told.map(({ file, line, code }) => [file, line, code])).toEqual([
        ['A.log', 1, 'RECORD_NOT_JSON'],
        ['A.log', 3, 'RECORD_NOT_JSON'],
        ['A.log', 4, 'EVENT_INVALID'],
        ['A.log', 6, 'TORN_TAIL'],
      ]);
      for (const { line, offset, bytes } of told) {
        const before = lines.slice(0, line - 1).map((one) => Buffer.byteLength(one) + 1);
        expect(offset).toBe(before.reduce((sum, one) => sum + one, 0));
        expect(Buffer.from(bytes).toString('utf8')).toBe(lines[line - 1]);
      }
      expect(place.queue.totals()).toMatchObject({ accepted: 2, dead: 0 });
    }));

  it('takes all of a log whose offset is damaged, and says so (U2, U3, U4, U5, C18, PQ-08, PQ-09, PQ-10)', () =>
    withPlace(async (place) => {
      const offsets: readonly (readonly [
        offset: string | undefined,
        reason: string,
        handled: number | null,
      ])[] = [
        ['\0\0\0', 'offset_unreadable', null],
        ['', 'offset_unreadable', null],
        ['-1', 'offset_unreadable', null],
        ['99999999', 'offset_beyond_log', null],
        ['{"v":9,"min_reader":9,"offset":1}', 'offset_unsupported', null],
        [String(bytesOf('s5', 1) + 5), 'offset_misaligned', 2],
        [`{"v":1,"offset":${bytesOf('s6', 2)},"cursor":null}`, 'offset_sound', 2],
        [`${bytesOf('s7', 3)}\n`, 'offset_sound', 3],
        [undefined, 'offset_missing', 0],
      ];
      for (const [at, [offset]] of offsets.entries()) {
        await place.write({ [`s${at}.log`]: legacyLog(`s${at}`, 3) });
        if (offset !== undefined) await place.write({ [`s${at}.offset`]: offset });
      }
      // Its log was deleted and its offset was not.
      await place.write({ 'alone.offset': '12' });
      const { report, refused } = await place.import();
      expect(refused).toEqual([]);
      const [alone, ...told] = report.sessions;
      expect(alone).toMatchObject({ name: 'alone', log: null, queued: 0 });
      expect(told.map((one) => [one.offset.reason, one.handled, one.queued])).toEqual(
        offsets.map(([, reason, handled]) => [reason, handled, 3]),
      );
    }));

  it('with isPendingOnly takes what was not committed, and nothing where nobody can say what that is (C17, C18)', () =>
    withPlace(async (place) => {
      await place.write({
        'A.log': legacyLog('A', 5),
        'A.offset': String(bytesOf('A', 3)),
        'B.log': legacyLog('B', 2),
        'B.offset': '99999999',
        'C.log': legacyLog('C', 2),
        'C.log.compact-7': '',
        'C.offset': '99999999',
        'D.log': legacyLog('D', 4),
        'D.offset': String(bytesOf('D', 1) + 5),
      });
      const { report } = await place.import({ isPendingOnly: true });
      expect(report.sessions.map((one) => [one.name, one.state, one.queued])).toEqual([
        ['A', 'imported', 2],
        ['B', 'refused', 0],
        ['C', 'imported', 2],
        ['D', 'imported', 2],
      ]);
    }));

  it('takes dead letters as dead letters, each once, and none of their lines as an event (ING-708, PQ-17, PQ-20, U6)', () =>
    withPlace(async (place) => {
      const [first, poison, last] = [0, 1, 2].map((n) => legacyLine({ n }));
      await place.write({
        'A.log': `${first}\n${poison}\n${last}\n`,
        'A.dead.jsonl': `${legacyLetter(poison ?? '', 'pool timeout')}{"ts":1,"err`,
        // A letter of an earlier life excuses no line of a later one.
        'A.finalized-5.dead.jsonl': legacyLetter(last ?? ''),
        // Its log was finalised, and what was dead is no event.
        'gone.dead.jsonl': legacyLetter(legacyLine({ session: 'gone' })) + legacyLetter('{"no":1}'),
      });
      const { report, refused } = await place.import();
      expect(report.sessions).toMatchObject([
        { name: 'A', queued: 2, dead_lines: 1, letters_taken: 1, letters_known: 1, refused: 1 },
        { name: 'gone', letters_taken: 1, refused: 1 },
      ]);
      expect(refused.map(({ file, line, code }) => [file, line, code])).toEqual([
        ['A.dead.jsonl', 2, 'LETTER_INVALID'],
        ['gone.dead.jsonl', 2, 'LETTER_INVALID'],
      ]);
      expect(place.queue.totals()).toMatchObject({ accepted: 4, applied: 2, dead: 2, pending: 0 });
      const [letter] = await place.queue.readDeadLetters(testKey('A'));
      expect(letter).toMatchObject({
        outcome: { kind: 'live' },
        error: {
          code: 'LEGACY_DEAD_LETTER',
          message: 'pool timeout (a dead letter of the predecessor since 2026-01-01T00:00:00.500Z)',
        },
      });
      const again = await place.import();
      const sum = (member: 'queued' | 'letters_taken' | 'letters_known'): number =>
        again.report.sessions.reduce((total, session) => total + session[member], 0);
      expect([sum('queued'), sum('letters_taken'), sum('letters_known')]).toEqual([0, 0, 3]);
      expect(place.queue.totals()).toMatchObject({ accepted: 4, dead: 2, pending: 0 });
    }));

  it('keeps the letters of a key that cannot drain for the next import (P7)', () =>
    withPlace(async (place) => {
      await place.write({
        'A.log': legacyLog('A', 2),
        'A.dead.jsonl': legacyLetter(legacyLine({ n: 9 })),
      });
      await place.import();
      await place.queue.quarantine(testKey('A'), { code: 'RECORD_CORRUPT', message: 'by hand' });
      await place.write({ 'A.dead.jsonl': legacyLetter(legacyLine({ n: 10 })) });
      const { report } = await place.import();
      expect(report.sessions).toMatchObject([{ letters: 1, letters_taken: 0, letters_waiting: 1 }]);
    }));

  it('keeps the sender that the predecessor had proved, and the first that was named owns the session (PQ-18, ING-915)', () =>
    withPlace(async (place) => {
      const by = [undefined, 'bob', 'alice'].map((created_by, n) =>
        legacyLine({ n, more: { created_by } }),
      );
      await place.write({ 'A.log': `${by.join('\n')}\n` });
      const { report } = await place.import();
      expect(report.sessions).toMatchObject([{ queued: 3, refused: 0 }]);
      expect(await place.queue.keyStatus(testKey('A'))).toMatchObject({ owner: 'bob' });
    }));

  it('takes a session id of 300 bytes, lines without a session, and a line replayed by the predecessor once (U7, PQ-16, W9)', () =>
    withPlace(async (place) => {
      const long = 'ä'.repeat(150);
      await place.write({
        'folded~0123456789abcdef.log': legacyLog(long, 2),
        '_no_session__w.log': legacyLog('', 1),
        'R.log': legacyLog('R', 1) + legacyLog('R', 1),
      });
      const { report } = await place.import();
      expect(
        report.sessions.map(({ name, queued, duplicates }) => [name, queued, duplicates]),
      ).toEqual([
        ['R', 1, 1],
        ['_no_session__w', 1, 0],
        ['folded~0123456789abcdef', 2, 0],
      ]);
    }));

  it('takes a workspace from the options where a line names none, and refuses the line otherwise', () =>
    withPlace(async (place) => {
      const line = legacyLine({ more: { workspace: undefined } });
      await place.write({ 'A.log': `${line}\n` });
      const without = await place.import();
      expect(without.refused).toMatchObject([{ code: 'EVENT_INVALID', line: 1 }]);
      const named = await place.import({ workspace: 'w2' });
      expect(named.report.sessions).toMatchObject([{ queued: 1, refused: 0 }]);
      expect(await place.queue.keyStatus(testKey('A', 'w2'))).toMatchObject({ accepted: 1 });
    }));

  it('sends more than one request takes in parts, in order', () =>
    withPlace(async (place) => {
      const more = limitsDefault.batchRecordsMax * 3 + 7;
      await place.write({ 'A.log': legacyLog('A', more) });
      const { report } = await place.import();
      expect(report.sessions).toMatchObject([{ lines: more, queued: more }]);
      expect(place.queue.totals()).toMatchObject({ accepted: more, dead: 0 });
    }));

  it.each([
    ['a folder that is not there', '/nowhere', {}],
    ['a folder without a session', folder, { 'notes.txt': 'x' }],
  ])('refuses %s', (_name, path, files) =>
    withPlace(async (place) => {
      await place.write(files);
      await expect(place.import({ folder: path })).rejects.toMatchObject({
        code: 'LEGACY_FOLDER_INVALID',
      });
    }),
  );
});
