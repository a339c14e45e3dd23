import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyCursor } from '#record';
import {
  encodeOffsetRecord,
  type OffsetRecord,
} from '../../../queue-backends/filesystem/session/offset-record.ts';
import { parseOffset } from '../../../queue-backends/filesystem/session/parse-offset.ts';

const record: OffsetRecord = {
  v: 2,
  min_reader: 2,
  workspace: 'w',
  session_id: 's',
  owner: 'agent',
  epoch: '0192f0a0-0000-7000-8000-000000000000',
  ordinal: 0,
  gen: 0,
  base: 0,
  offset: 130,
  log_end: 260,
  log_records: 4,
  committed_records: 2,
  applied: null,
  state: 'open',
  totals: { accepted: 4, applied: 2, dead: 0, discarded: 0, duplicates: 0 },
  seq: 3,
  frame: { tenure: 1, sequence: 9 },
  tenure: 1,
  cursor: emptyCursor(),
};

const text = (value: string): Buffer => Buffer.from(value, 'utf8');
const kindOf = (bytes: Uint8Array): string => parseOffset(bytes).kind;

describe('an offset record of any version', () => {
  it('comes back as it was written, unknown members too (ING-213, ING-P03)', () => {
    const members = fc.dictionary(
      fc.stringMatching(/^x_[a-z]{1,8}$/),
      fc.jsonValue({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(members, fc.nat(), (unknown, offset) => {
        const written = JSON.parse(
          JSON.stringify({ ...record, ...unknown, offset }),
        ) as OffsetRecord;
        const parsed = parseOffset(encodeOffsetRecord(written));
        expect(parsed).toEqual({ kind: 'native', record: written });
      }),
    );
  });

  it('of a newer version is read when it says that we may (ING-213, ING-217)', () => {
    const newer = { ...record, v: 3, x_more: [1] } as unknown as OffsetRecord;
    expect(parseOffset(encodeOffsetRecord(newer))).toEqual({ kind: 'native', record: newer });
    const beyond = encodeOffsetRecord({ ...record, min_reader: 3 } as unknown as OffsetRecord);
    expect(parseOffset(beyond)).toEqual({ kind: 'unsupported', minReader: 3 });
  });

  it('of the predecessor is a whole number, or an object with offset and perhaps a cursor (ING-213, ING-214)', () => {
    const legacy = { kind: 'legacy', cursor: null };
    expect(parseOffset(text('0'))).toEqual({ ...legacy, version: 0, offset: 0 });
    expect(parseOffset(text(' 18342\n'))).toEqual({ ...legacy, version: 0, offset: 18_342 });
    expect(parseOffset(text('{"offset":7}'))).toEqual({ ...legacy, version: 1, offset: 7 });
    expect(parseOffset(text('{"v":1,"offset":7,"cursor":{"dl2":{}}}'))).toEqual({
      kind: 'legacy',
      version: 1,
      offset: 7,
      cursor: { dl2: {} },
    });
  });

  it('is damage when it is anything else, however JSON.parse or Number would take it (ING-215, ING-216, ING-218)', () => {
    const damaged: readonly (string | Uint8Array)[] = [
      '',
      ' ',
      '12x',
      '-5',
      '1e3',
      '0x10',
      '1.0',
      '+1',
      '1 2',
      '\u00a012',
      '\ufeff12',
      '9'.repeat(40),
      '9007199254740992',
      'null',
      '[]',
      '"12"',
      '{}',
      '{"offset":"7"}',
      '{"offset":-1}',
      '{"v":1,"offset":1.5}',
      '{"v":2,"offset":7}',
      Buffer.alloc(64),
      Buffer.from([0x31, 0xff]),
    ];
    for (const bytes of damaged)
      expect(kindOf(typeof bytes === 'string' ? text(bytes) : bytes), String(bytes)).toBe(
        'corrupt',
      );
  });

  it('with any one byte changed is found out, or says the same (ING-P03)', () => {
    const bytes = encodeOffsetRecord(record);
    fc.assert(
      fc.property(
        fc.nat({ max: bytes.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, flip) => {
          const changed = Buffer.from(bytes);
          changed[at] = (changed[at] ?? 0) ^ flip;
          const parsed = parseOffset(changed);
          if (parsed.kind === 'native') expect(parsed.record).toEqual(record);
          else expect(parsed.kind).toMatch(/^(corrupt|unsupported)$/);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is never offset 0 unless the bytes are exactly that (ING-P03)', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const parsed = parseOffset(bytes);
        if (parsed.kind === 'legacy' && parsed.offset === 0)
          expect(Buffer.from(bytes).toString('latin1')).toMatch(/^[ \t\r\n]*0+[ \t\r\n]*$|offset/);
      }),
    );
  });
});
