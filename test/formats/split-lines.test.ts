import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines, type SourceLine } from '#formats';

async function* chunked(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function split(
  bytes: Uint8Array,
  sizes: readonly number[] = [7],
  maxLineBytes = 1000,
): Promise<readonly SourceLine[]> {
  const lines: SourceLine[] = [];
  for await (const line of splitLines(chunked(bytes, sizes), { maxLineBytes })) {
    lines.push({ ...line, bytes: Buffer.from(line.bytes) });
  }
  return lines;
}

const texts = (lines: readonly SourceLine[]): readonly string[] =>
  lines.map(({ bytes }) => Buffer.from(bytes).toString('utf8'));

describe('line splitting', () => {
  it('ends a line at byte 0x0A and nowhere else (D14, ING-026)', async () => {
    const text = 'a\u2028b\u2029c\u0085d\fe\n\r\nx\ry\nlast';
    expect(texts(await split(Buffer.from(text)))).toEqual([
      'a\u2028b\u2029c\u0085d\fe',
      '',
      'x\ry',
      'last',
    ]);
  });

  it('takes off a CR before the LF and a byte order mark at the start, in whatever pieces they come', async () => {
    for (const size of [1, 2, 3, 4, 100]) {
      const lines = await split(Buffer.from('\ufeffone\r\ntwo\ufeff\r\n'), [size]);
      expect(texts(lines)).toEqual(['one', 'two\ufeff']);
      expect(lines.map(({ byteOffset, lineNumber }) => [byteOffset, lineNumber])).toEqual([
        [3, 1],
        [8, 2],
      ]);
    }
  });

  it('tells whether the last line had its line break', async () => {
    expect((await split(Buffer.from('a\nb'))).map(({ isTerminated }) => isTerminated)).toEqual([
      true,
      false,
    ]);
    expect(await split(Buffer.from(''))).toEqual([]);
    expect(texts(await split(Buffer.from('\n\n')))).toEqual(['', '']);
    expect(texts(await split(Buffer.from('\ufeff')))).toEqual([]);
  });

  it('finds the same lines and places in any chunks', async () => {
    const byte = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(0x0a, 0x0d, 0x61) },
      fc.nat({ max: 255 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(byte, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (array, sizes) => {
          const bytes = Uint8Array.from(array);
          const lines = await split(bytes, sizes);
          expect(lines).toEqual(await split(bytes, [1000]));
          for (const line of lines) {
            expect(
              Buffer.from(bytes.subarray(line.byteOffset, line.byteOffset + line.byteLength)),
            ).toEqual(Buffer.from(line.bytes));
          }
          const hasMark = array[0] === 0xef && array[1] === 0xbb && array[2] === 0xbf;
          const count =
            array.filter((value) => value === 0x0a).length +
            (array.length > (hasMark ? 3 : 0) && array.at(-1) !== 0x0a ? 1 : 0);
          expect(lines).toHaveLength(count);
          expect(lines.map(({ lineNumber }) => lineNumber)).toEqual(lines.map((_, at) => at + 1));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('passes over a line above the limit, holding only its beginning, and goes on behind it (P9)', async () => {
    const bytes = Buffer.from(`short\n${'x'.repeat(5000)}\r\nnext\n${'y'.repeat(101)}`);
    const lines = await split(bytes, [333], 100);
    expect(
      lines.map(({ isTooLong, byteLength, byteOffset }) => [isTooLong, byteLength, byteOffset]),
    ).toEqual([
      [false, 5, 0],
      [true, 5001, 6],
      [false, 4, 5008],
      [true, 101, 5013],
    ]);
    expect(Math.max(...lines.map((line) => line.bytes.length))).toBeLessThanOrEqual(1024);
    expect((await split(Buffer.from(`${'z'.repeat(100)}\r\n`), [10], 100))[0]).toMatchObject({
      isTooLong: false,
      byteLength: 100,
    });
  });
});
