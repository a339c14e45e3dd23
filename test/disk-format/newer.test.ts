import { describe, expect, it } from 'vitest';
import { emptyCursor, parseCursor, parseLine } from '#record';
import { parseTokensFile } from '../../src/access/tokens-file.ts';
import { parseMarker } from '#roots';
import { frameKinds, readFrame, sealFrame } from '../../queue-backends/filesystem/journal/frame.ts';
import { parseLetterLine } from '../../queue-backends/filesystem/session/dead-file.ts';
import {
  decodeGeneration,
  encodeGeneration,
} from '../../queue-backends/filesystem/session/generation-file.ts';
import { parseOffset } from '../../queue-backends/filesystem/session/parse-offset.ts';
import { decodeDedup, decodeProgress, decodeRow, encodeDedup } from '../../src/state/entry-codec.ts';
import { decodeMark } from '../../src/state/guard-mark.ts';
import { crc32c } from '#base';
import { testKey } from '../support/queue-fixtures.ts';

const key = testKey();
const json = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

function newerDedup(): Uint8Array {
  const entry = { ordinal: 0, offset: 0, length: 1, status: 'live', isDerivedId: false } as const;
  const bytes = Buffer.from(encodeDedup(entry));
  bytes.writeUInt8(2, 0);
  return bytes;
}

function newerFrame(): Buffer {
  const bytes = Buffer.alloc(64);
  const kind = frameKinds.mark;
  const header = { salt: 7, sequence: 1, tenure: 1, synced: 0, groupIndex: 0, groupCount: 1 };
  sealFrame(bytes, 0, 0, { kind, ...header });
  bytes.writeUInt8(2, 9);
  bytes.writeUInt32LE(0, 4);
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, 48)), 4);
  return bytes;
}

const marker = { format: 1, layout_version: 1 };

/** Forms that end the start, or the read that asked for them; queue folder, segment, graph and control database: beside their other tests. */
const refused: Readonly<Record<string, () => unknown>> = {
  'a dedup entry': () => decodeDedup(newerDedup(), key),
  'the dedup progress': () => decodeProgress(json({ v: 2 }), key),
  'the row': () => decodeRow(json({ v: 2 }), key),
  'the guard mark': () => decodeMark(json({ v: 2 }), 'a place'),
  'the format of the root': () => parseMarker('/r', json({ ...marker, format: 2 })),
  'the layout of the root': () => parseMarker('/r', json({ ...marker, layout_version: 2 })),
  'tokens.json': () => parseTokensFile(json({ v: 2, tokens: [] }), '/root/tokens.json'),
  'a journal frame': () => readFrame(newerFrame(), 0, 7),
  'a generation file': () => decodeGeneration(encodeGeneration({ v: 2 } as never)),
};

describe('a stored form of a newer version', () => {
  it.each(Object.keys(refused))('is refused by name: %s', (thing) => {
    expect(refused[thing]).toThrow(
      expect.objectContaining({
        code: 'FORMAT_TOO_NEW',
        message: expect.stringContaining(thing) as string,
      }),
    );
  });

  it('stops its key alone, and says why: offset record, cursor, log line', () => {
    expect(parseOffset(json({ v: 3, min_reader: 3 }))).toEqual({
      kind: 'unsupported',
      minReader: 3,
    });
    expect(parseCursor({ ...emptyCursor(), schema: 2 })).toEqual({
      fault: 'its schema 2 is newer than 1',
    });
    expect(parseCursor({ ...emptyCursor(), schema: '2' }).fault).toContain('wrong form');
    expect(parseLine(json({ v: 2, sid: 's', ws: 'w' }), key)).toEqual({
      fault: 'line version 2 is newer than 1',
    });
  });

  it('is kept and not half read: a line of dead letters', () => {
    expect(parseLetterLine(json({ v: 1, id: 'x' }))).toMatchObject({ id: 'x' });
    expect(parseLetterLine(json({ v: 2, id: 'x' }))).toBeUndefined();
  });
});
