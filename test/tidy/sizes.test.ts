import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './source-tree.ts';

const fileLinesMax = 400;
const functionLinesMax = 70;

/** Ratchets: present size of each exception. An entry may shrink or go, never grow or come. */
const longFiles: Readonly<Record<string, number>> = {
  'test/ingest/create-ingest.test.ts': 405,
};
const longFunctions: Readonly<Record<string, number>> = {};

const sources = [
  ...listFiles('src', 'queue-backends', 'bench', 'test').filter((path) => path.endsWith('.ts')),
  ...listFiles('console').filter((path) => path.endsWith('.js')),
];

interface FunctionSize {
  readonly name: string;
  readonly lines: number;
}

/**
 * Sizes of functions and methods, by the formatter's own indentation: a function's last line is the first later line that closes at its column.
 */
function functionSizes(text: string): FunctionSize[] {
  const lines = text.split('\n');
  const start =
    /^(\s*)(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\*?\s+(\w+)|(?:(?:public|private|static|override|readonly)\s+)*(?:async\s+)?\*?(#?\w+)\((?:.*)\)?.*\{$|(?:const|let)\s+(\w+)[^=]*=\s*(?:async\s*)?(?:\(|\w+\s*=>|function))/;
  const found: FunctionSize[] = [];
  for (const [index, line] of lines.entries()) {
    const match = start.exec(line);
    if (match === null) continue;
    const name = match[2] ?? match[3] ?? match[4] ?? '';
    if (/^(if|for|while|switch|catch|return|describe|it)$/.test(name)) continue;
    if (!/[{(]$/.test(line)) continue;
    const indent = match[1] ?? '';
    const end = lines.findIndex(
      (other, at) => at > index && new RegExp(`^${indent}\\}[,;)]*$`).test(other),
    );
    if (end > 0) found.push({ name, lines: end - index + 1 });
  }
  return found;
}

describe('sizes', () => {
  it('keeps files within a sitting (400 lines)', () => {
    const wrong = sources
      .map((file) => ({ file, lines: readText(file).split('\n').length - 1 }))
      .filter(({ file, lines }) => lines > (longFiles[file] ?? fileLinesMax))
      .map(({ file, lines }) => `${file}: ${lines} lines; look for the second noun`);
    expect(wrong).toEqual([]);
  });

  it('keeps functions on a screen (70 lines)', () => {
    const wrong = sources
      .filter((file) => !file.startsWith('test/'))
      .flatMap((file) => functionSizes(readText(file)).map((size) => ({ file, ...size })))
      .filter(
        ({ file, name, lines }) => lines > (longFunctions[`${file}#${name}`] ?? functionLinesMax),
      )
      .map(
        ({ file, name, lines }) => `${file}#${name}: ${lines} lines; split decision from effect`,
      );
    expect(wrong).toEqual([]);
  });

  it('has no exception that is no longer needed', () => {
    const stale = Object.entries(longFiles)
      .filter(([file]) => readText(file).split('\n').length - 1 <= fileLinesMax)
      .map(([file]) => file);
    expect(stale, 'take the entry out of the ratchet').toEqual([]);
  });

  it('measures a long function as long', () => {
    const body = Array.from({ length: 80 }, (_, at) => `  step(${at});`).join('\n');
    expect(functionSizes(`export function long(): void {\n${body}\n}\n`)).toEqual([
      { name: 'long', lines: 82 },
    ]);
  });
});
