import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concatBytes,
  crc32c,
  crc32cCombine,
  crc32cHex,
  formatBytes,
  parseBytes,
  sha256Hex,
} from '#base';

/** Bit by bit from the definition, as slow as it is plain. */
function referenceCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32c', () => {
  it('gives the published check values', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
    expect(crc32c(Uint8Array.from({ length: 32 }, (_, at) => at))).toBe(0x46dd794e);
    expect(crc32c(new Uint8Array(0))).toBe(0);
  });

  it('agrees with the bitwise definition at every length and alignment', () => {
    const bytes = fc.uint8Array({ maxLength: 100 });
    fc.assert(
      fc.property(bytes, fc.nat(9), (all, skip) => {
        const part = all.subarray(skip);
        expect(crc32c(part)).toBe(referenceCrc(part));
      }),
    );
  });

  it('goes on from a seed and combines without the bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 3000 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const whole = crc32c(concatBytes([a, b]));
        expect(crc32c(b, crc32c(a))).toBe(whole);
        expect(crc32cCombine(crc32c(a), crc32c(b), b.length)).toBe(whole);
      }),
    );
  });

  it('combines over lengths above 32 bits as it does step by step', () => {
    const zeros = new Uint8Array(1 << 20);
    const zerosCrc = crc32c(zeros);
    let expected = crc32c(Buffer.from('start'));
    let lengthDone = 0;
    let tail = 0;
    for (let doubling = 0; doubling < 13; doubling += 1) {
      const length = zeros.length * 2 ** doubling;
      const part: number = doubling === 0 ? zerosCrc : crc32cCombine(tail, tail, length / 2);
      tail = part;
      lengthDone = length;
    }
    expected = crc32cCombine(crc32cCombine(expected, tail, lengthDone), zerosCrc, zeros.length);
    const other = crc32cCombine(
      crc32c(Buffer.from('start')),
      crc32cCombine(tail, zerosCrc, zeros.length),
      lengthDone + zeros.length,
    );
    expect(lengthDone).toBe(2 ** 32);
    expect(other).toBe(expected);
  });

  it('writes eight lower-case hex digits', () => {
    expect(crc32cHex(Buffer.from('123456789'))).toBe('e3069283');
    expect(crc32cHex(new Uint8Array(0))).toBe('00000000');
  });
});

describe('sizes', () => {
  it.each([
    ['20MiB', 20 * 1024 * 1024],
    ['1.5 GB', 1_500_000_000],
    ['4096', 4096],
    ['64kib', 65536],
    ['0', 0],
    ['3 B', 3],
  ])('reads %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(['', 'MiB', '-1', '5 apples', '1e3', '0x10', '99999999TiB'])('refuses %j', (text) => {
    expect(parseBytes(text)).toBeUndefined();
  });

  it('writes the largest binary unit that fits', () => {
    expect([0, 1023, 1024, 1536, 64 * 2 ** 20, 5 * 2 ** 50].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '1 KiB',
      '1.5 KiB',
      '64 MiB',
      '5120 TiB',
    ]);
  });
});

describe('sha256Hex', () => {
  it('gives the published value of abc', () => {
    expect(sha256Hex(Buffer.from('abc'))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});
