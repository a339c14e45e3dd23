import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '#base';
import {
  frameBytes,
  frameHeaderBytes,
  frameKinds,
  readFrame,
  sealFrame,
  type FrameHeader,
} from '../../../queue-backends/filesystem/journal/frame.ts';
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  parseSegmentName,
  segmentName,
} from '../../../queue-backends/filesystem/journal/segment.ts';
import {
  framingFault,
  readStored,
  storedBytes,
  writeStored,
} from '../../../queue-backends/filesystem/session/stored-line.ts';

const header: FrameHeader = {
  kind: frameKinds.append,
  salt: 0x0a0b0c0d,
  sequence: 7,
  tenure: 3,
  synced: 6,
  groupIndex: 1,
  groupCount: 2,
};

function frameOf(payload: Uint8Array, of: FrameHeader = header): Buffer {
  const buffer = Buffer.alloc(frameBytes(payload.length), 0xee);
  buffer.set(payload, frameHeaderBytes);
  sealFrame(buffer, 0, payload.length, of);
  return buffer;
}

/** Recomputes the checksum after a change, as a newer program would have written it. */
function resealed(frame: Buffer, change: (bytes: Buffer) => void): Buffer {
  const payload = frame.subarray(frameHeaderBytes, frameHeaderBytes + frame.readUInt32LE(0));
  const probe = Buffer.from(frame);
  change(probe);
  const sealed = Buffer.from(probe);
  sealFrame(sealed, 0, payload.length, {
    ...header,
    kind: probe.readUInt8(8) as FrameHeader['kind'],
  });
  return sealed;
}

describe('frame', () => {
  it('is sealed alike by who knows the checksum of its payload and by who does not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (payload) => {
        const known = Buffer.alloc(frameBytes(payload.length), 0xee);
        known.set(payload, frameHeaderBytes);
        sealFrame(known, 0, payload.length, header, crc32c(payload));
        expect(known).toEqual(frameOf(payload));
        expect(readFrame(known, 0, header.salt)?.payload).toEqual(Buffer.from(payload));
      }),
    );
  });

  it('has the bytes of format 1 as frame', () => {
    expect(frameOf(Buffer.from('{}')).toString('hex')).toBe(
      [
        '02000000',
        frameOf(Buffer.from('{}')).toString('hex', 4, 8),
        '01010000',
        '0d0c0b0a',
        '0700000000000000',
        '0300000000000000',
        '0600000000000000',
        '0100000002000000',
        '7b7d000000000000',
      ].join(''),
    );
    expect(frameOf(Buffer.from('{}')).toString('hex', 4, 8)).toBe('c7eb683a');
  });

  it('reads back what was written, and sequences above 32 bits', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.maxSafeNat(),
        fc.maxSafeNat(),
        (payload, sequence, tenure) => {
          const frame = frameOf(payload, { ...header, sequence, tenure });
          expect(frame.length % 8).toBe(0);
          expect(readFrame(frame, 0, header.salt)).toEqual({
            ...header,
            sequence,
            tenure,
            payload: Buffer.from(payload),
            bytes: frame.length,
          });
        },
      ),
    );
  });

  it('is no frame with any one bit changed, nor of another salt, nor cut off (P7)', () => {
    const frame = frameOf(Buffer.from('{"k":"w~s"}'));
    for (let bit = 0; bit < (frameHeaderBytes + 11) * 8; bit += 1) {
      const changed = Buffer.from(frame);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readFrame(changed, 0, header.salt), `bit ${bit}`).toBeUndefined();
    }
    expect(readFrame(frame, 0, header.salt + 1)).toBeUndefined();
    expect(readFrame(frame.subarray(0, frame.length - 8), 0, header.salt)).toBeUndefined();
  });

  it('of an unknown kind is refused by name, and not taken for damage', () => {
    const unknown = resealed(frameOf(Buffer.from('{}')), (bytes) => bytes.writeUInt8(77, 8));
    expect(() => readFrame(unknown, 0, header.salt)).toThrow(/version 77/);
  });
});

describe('segment header', () => {
  const of = { salt: 0xdeadbeef, generation: 12, number: 3, firstSequence: 100, mark: 90 };

  it('has the bytes of format 1 as segment header', () => {
    expect(encodeSegmentHeader(of).toString('hex')).toBe(
      [
        Buffer.from('MILLRACE').toString('hex'),
        '01000000',
        'efbeadde',
        '0c00000000000000',
        '0300000000000000',
        '6400000000000000',
        '5a00000000000000',
        '000000000000000000000000',
        encodeSegmentHeader(of).toString('hex', 60),
      ].join(''),
    );
  });

  it('is none when a bit of it is changed, and a newer one is refused by name', () => {
    const bytes = encodeSegmentHeader(of);
    expect(decodeSegmentHeader(bytes, 'one')).toEqual(of);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeSegmentHeader(changed, 'one')).toBeUndefined();
    }
    expect(decodeSegmentHeader(Buffer.alloc(4096), 'zeros')).toBeUndefined();
  });

  it('has names that sort as their generations and numbers do', () => {
    const names = [segmentName(9, 11), segmentName(10, 2), segmentName(10, 10)];
    expect(names.toSorted()).toEqual(names);
    expect(parseSegmentName(names[1] ?? '')).toEqual({ generation: 10, number: 2 });
    expect(parseSegmentName('0000000001-0000000000.wal.64.torn.bin')).toBeUndefined();
  });
});

describe('stored line', () => {
  const store = (raw: Uint8Array): Buffer => {
    const buffer = Buffer.alloc(storedBytes(raw));
    expect(writeStored(buffer, 0, raw)).toBe(crc32c(buffer));
    return buffer;
  };

  it('is the record with a crc at its end, still one line of JSON', () => {
    const line = store(Buffer.from('{"v":1,"n":2}')).toString('utf8');
    expect(line).toBe('{"v":1,"n":2,"crc":"57209af2"}\n');
    expect(JSON.parse(line)).toMatchObject({ v: 1, n: 2 });
  });

  it('gives back the record as it was, and nothing once a bit is changed (QFS-10)', () => {
    fc.assert(
      fc.property(fc.object(), fc.nat(), (value, at) => {
        const raw = Buffer.from(JSON.stringify({ v: 1, value }));
        const line = store(raw);
        expect(Buffer.from(readStored(line) ?? []).equals(raw)).toBe(true);
        const changed = Buffer.from(line);
        const bit = at % ((line.length - 1) * 8);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(readStored(changed)).toBeUndefined();
      }),
    );
  });

  it('refuses what is not one JSON object on one line (ING-122)', () => {
    expect(framingFault(Buffer.from('{"a":1}'))).toBeUndefined();
    for (const text of ['', '{}', '[1]', '{"a":1}\n', '{"a":\n1}', '{"a":1} '])
      expect(framingFault(Buffer.from(text)), JSON.stringify(text)).toBeDefined();
  });
});
