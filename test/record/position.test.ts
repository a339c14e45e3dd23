import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPosition, parsePosition, type Position } from '#record';

const epoch = '01920000-aaaa-7bbb-8ccc-0123456789ab';
const parts = fc.record({
  ordinal: fc.nat({ max: 0xffffffff }),
  offset: fc.maxSafeNat(),
  epoch: fc.constant(epoch),
});

describe('position', () => {
  it('writes ordinal and offset in fixed width, ordinal first', () => {
    expect(formatPosition({ ordinal: 1, epoch, offset: 18342 })).toBe(
      `00000001.000000000047a6.${epoch}`,
    );
  });

  it('sorts as text in log order, across epochs too (P2, ING-107)', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const inLog = a.ordinal - b.ordinal || a.offset - b.offset;
        const [textA, textB] = [formatPosition(a), formatPosition(b)];
        expect(Math.sign(inLog)).toBe(textA < textB ? -1 : textA > textB ? 1 : 0);
      }),
    );
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(parts, (a) => {
        expect(parsePosition(formatPosition(a))).toEqual(a);
      }),
    );
  });

  it('reads nothing else', () => {
    const good = formatPosition({ ordinal: 0, epoch, offset: 0 });
    const bad = [
      '',
      '0',
      good.replace('.', '.F').toUpperCase(),
      `${good}\n`,
      ` ${good}`,
      `0${good}`,
      good.replace('.', ','),
      `00000000.ffffffffffffff.${epoch}`,
    ];
    for (const text of bad) expect([text, parsePosition(text)]).toEqual([text, undefined]);
    expect(parsePosition(good as Position)).toEqual({ ordinal: 0, epoch, offset: 0 });
  });

  it('refuses to write what would not sort', () => {
    for (const wrong of [
      { ordinal: -1 },
      { ordinal: 2 ** 32 },
      { offset: -1 },
      { offset: 2 ** 53 },
      { offset: 0.5 },
      { epoch: 'a.b' },
      { epoch: '' },
    ]) {
      expect(() => formatPosition({ ordinal: 0, epoch, offset: 0, ...wrong })).toThrow(RangeError);
    }
  });
});
