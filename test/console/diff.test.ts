import { array, assert, constantFrom, property } from 'fast-check';
import { expect, it } from 'vitest';

interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new';
  readonly text: string;
}

const page: string = '../../console/diff.js';
const { diffLines } = (await import(page)) as {
  diffLines(before: string, after: string): readonly DiffLine[];
};

function side(lines: readonly DiffLine[], left: DiffLine['kind']): string {
  return lines
    .filter(({ kind }) => kind === 'same' || kind === left)
    .map(({ text }) => text)
    .join('\n');
}

it('tells both texts whole, whatever they are', () => {
  const text = array(constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
  assert(
    property(text, text, (before, after) => {
      const lines = diffLines(before.join('\n'), after.join('\n'));
      expect(side(lines, 'gone')).toBe(before.join('\n'));
      expect(side(lines, 'new')).toBe(after.join('\n'));
    }),
  );
});

it('keeps what is common, and gives up on the middle of what is too long', () => {
  expect(diffLines('a\nb\nc', 'a\nx\nc').map(({ kind }) => kind)).toEqual([
    'same',
    'gone',
    'new',
    'same',
  ]);
  const many = Array.from({ length: 3000 }, (_, at) => `${at}`).join('\n');
  expect(diffLines(`${many}\nend`, `x\n${many.replaceAll('9', '8')}\nend`).at(-1)).toEqual({
    kind: 'same',
    text: 'end',
  });
});
