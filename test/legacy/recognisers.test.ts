import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTranslator } from '#formats';
import { parseOffset } from '#queue-backends/filesystem';
import { planStart } from '../../src/legacy/plan-start.ts';
import { DeadPayloads, readLegacyLetter, readLegacyLine } from '../../src/legacy/read-line.ts';
import { sortFolder } from '../../src/legacy/sort-folder.ts';
import { legacyLetter, legacyLine } from '../support/legacy-folder.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');

describe('the names of a folder of the predecessor', () => {
  it('are sorted by the longest suffix that is one, dots in a session id or not', () => {
    const { sessions, others } = sortFolder([
      '.context-intelligence-server.lock',
      '.writer.lease',
      'a.b.dead.jsonl',
      'a.b.finalized-171.dead.jsonl',
      'a.b.log',
      'a.b.log.compact-171',
      'a.b.log.torn-171.bin',
      'a.b.offset',
      `a.b.offset.${'0'.repeat(32)}.tmp`,
      'x.compact.log',
      '_no_session__w.log',
      'notes.txt',
    ]);
    expect(sessions).toEqual([
      {
        name: 'a.b',
        dead: 'a.b.dead.jsonl',
        retired: ['a.b.finalized-171.dead.jsonl'],
        log: 'a.b.log',
        intent: 'a.b.log.compact-171',
        offset: 'a.b.offset',
      },
      { name: 'x.compact', retired: [], log: 'x.compact.log' },
      { name: '_no_session__w', retired: [], log: '_no_session__w.log' },
    ]);
    expect(others.map(({ name }) => name)).toEqual([
      '.context-intelligence-server.lock',
      '.writer.lease',
      'a.b.log.torn-171.bin',
      `a.b.offset.${'0'.repeat(32)}.tmp`,
      'notes.txt',
    ]);
  });

  it('are each in one place and one place alone, whatever they are', () => {
    const suffix = fc.constantFrom(
      '',
      '.log',
      '.offset',
      '.dead.jsonl',
      '.finalized-1.dead.jsonl',
      '.tmp',
      '.log.torn-9.bin',
    );
    const name = fc.tuple(fc.string({ minLength: 1 }), suffix).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const { sessions, others } = sortFolder(names);
        const placed = [
          ...others.map((other) => other.name),
          ...sessions.flatMap(({ log, offset, dead, intent, retired }) =>
            [log, offset, dead, intent, ...retired].filter((one) => one !== undefined),
          ),
        ];
        // Two names of one session may both tell of a compaction; one is enough.
        expect(placed.length).toBeGreaterThanOrEqual(
          names.filter((one) => !/\.compact/.test(one)).length,
        );
        expect(names).toEqual(expect.arrayContaining(placed));
      }),
    );
  });
});

describe('a line of the predecessor', () => {
  const translator = createTranslator();

  it('gives up what the server had put into it, and keeps the bytes of the event (PQ-18)', () => {
    const data = '{"session_id":"s","timestamp":"2026-01-01T00:00:00Z","n":1.0e2,"t":"\\u00e4"}';
    const line = `{"event":"e","workspace":"w","created_by":"alice","data":${data},"_ci_event_identity":"new-1","working_dir":"/x"}`;
    const read = readLegacyLine(bytes(line), translator);
    expect(read).toMatchObject({ kind: 'event', by: 'alice' });
    const body = read.kind === 'event' ? read.body : '';
    expect(body).toContain(`"data":${data}`);
    expect(body).toContain('"working_dir":"/x"');
    expect(body).not.toMatch(/created_by|_ci_event_identity/);
  });

  it('has the same id with and without those members, so that a client that sends it again meets it (D21)', () => {
    const id = (line: string): string | undefined => {
      const read = readLegacyLine(bytes(line), translator);
      return read.kind === 'event'
        ? (JSON.parse(read.body) as { event_id?: string }).event_id
        : undefined;
    };
    const plain = id(legacyLine({ more: { created_by: undefined } }));
    expect(plain).toMatch(/^aci-event-v1:/);
    expect(id(legacyLine({ more: { _ci_event_identity: 'new-77' } }))).toBe(plain);
    expect(id(legacyLine({ more: { created_by: null } }))).toBe(plain);
  });

  it('is refused with a reason for any bytes that are no event, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (line) => {
        const read = readLegacyLine(line, translator);
        expect(['event', 'skip', 'reject']).toContain(read.kind);
        if (read.kind === 'reject') expect(read.message).not.toBe('');
      }),
    );
  });
});

describe('a dead letter of the predecessor', () => {
  it('is read with its payload as text or in base64 (ING-218)', () => {
    expect(readLegacyLetter(bytes(legacyLetter('{"a":1}').trim()))).toEqual({
      since: '2026-01-01T00:00:00.500Z',
      error: 'boom',
      payload: Buffer.from('{"a":1}'),
    });
    const raw = Buffer.from([0xff, 0x00]);
    const encoded = JSON.stringify({ error: 'x', payload_b64: raw.toString('base64') });
    expect(readLegacyLetter(bytes(encoded))).toMatchObject({
      payload: raw,
      since: 'an unknown time',
    });
  });

  it('is nothing when the line is torn or has no payload (U6)', () => {
    for (const line of [
      '',
      '{"ts":1,"error":"x","payl',
      '[]',
      'null',
      '{"ts":1,"error":"x"}',
      '{"payload":7}',
    ])
      expect(readLegacyLetter(bytes(line)), line).toBeUndefined();
    expect(readLegacyLetter(Uint8Array.of(0xff, 0xfe))).toBeUndefined();
  });

  it('excuses at most one line of the same bytes (ING-708)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c')),
        fc.array(fc.constantFrom('a', 'b', 'c')),
        (letters, lines) => {
          const payloads = new DeadPayloads();
          for (const letter of letters) payloads.add(bytes(letter));
          for (const text of ['a', 'b', 'c']) {
            const excused = lines.filter(
              (line) => line === text && payloads.take(bytes(line)),
            ).length;
            const most = letters.filter((letter) => letter === text).length;
            expect(excused).toBe(Math.min(most, lines.filter((line) => line === text).length));
          }
        },
      ),
    );
  });
});

describe('how far the predecessor had come', () => {
  const start = (
    offset: string | undefined,
    more: { logBytes?: number; isAligned?: boolean; hasIntent?: boolean } = {},
  ): ReturnType<typeof planStart> => {
    const parsed = offset === undefined ? undefined : parseOffset(bytes(offset));
    const own = parsed?.kind === 'native' ? { ...parsed, offset: parsed.record.offset } : parsed;
    return planStart({ offset: own, logBytes: 100, isAligned: true, hasIntent: false, ...more });
  };

  it('is told by a bare integer or an object, and by nothing else (ING-213…217, U2, U3)', () => {
    expect(start('40')).toMatchObject({ reason: 'offset_sound', handledTo: 40 });
    expect(start(' 40\n')).toMatchObject({ handledTo: 40 });
    expect(start('{"v":1,"offset":40,"cursor":{"dl2":{}}}')).toMatchObject({ handledTo: 40 });
    expect(start(undefined)).toMatchObject({ reason: 'offset_missing', handledTo: 0 });
    for (const damaged of ['', '-1', '12abc', '1e3', '\0\0\0\0', '{"v":1,"offset":-4}', '"40"'])
      expect(start(damaged), damaged).toMatchObject({
        reason: 'offset_unreadable',
        handledTo: undefined,
      });
    expect(start('{"v":9,"min_reader":9,"offset":4}')).toMatchObject({
      reason: 'offset_unsupported',
      handledTo: undefined,
    });
  });

  it('is not guessed from an offset beyond the log, unless a compaction says why (U4, C17, C18)', () => {
    expect(start('101')).toMatchObject({ reason: 'offset_beyond_log', handledTo: undefined });
    expect(start('101', { hasIntent: true })).toMatchObject({
      reason: 'compaction_interrupted',
      handledTo: 0,
    });
    expect(start('100', { hasIntent: true })).toMatchObject({
      reason: 'offset_sound',
      handledTo: 100,
    });
  });

  it('goes on with the next record from an offset inside of one (U5)', () => {
    expect(start('41', { isAligned: false })).toMatchObject({
      reason: 'offset_misaligned',
      handledTo: 41,
    });
  });

  it('is never 0 for bytes that are not exactly a legal zero (ING-215, ING-216)', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (given) => {
        const parsed = parseOffset(given);
        const text = Buffer.from(given).toString('latin1');
        if ('offset' in parsed && parsed.offset === 0)
          expect(text).toMatch(/^[ \t\r\n]*0{1,16}[ \t\r\n]*$/);
      }),
      { numRuns: 2000 },
    );
    const near = fc.stringMatching(/^[ \t\r\n\0+\-.0-9eExX_"]{0,20}$/);
    fc.assert(
      fc.property(near, (given) => {
        const parsed = parseOffset(bytes(given));
        if ('offset' in parsed && parsed.offset === 0)
          expect(given).toMatch(/^[ \t\r\n]*0{1,16}[ \t\r\n]*$/);
      }),
      { numRuns: 2000 },
    );
  });
});
