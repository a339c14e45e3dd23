import {
  concatBytes,
  flattenWhitespace,
  JsonInvalid,
  parseJson,
  sliceItems,
  type JsonValue,
} from '#base';
import type { SourceLine } from './split-lines.ts';

export interface DocumentOptions {
  /** A larger document is taken line by line. */
  readonly maxLineBytes: number;
}

/**
 * A file that is one JSON document over many lines (its first line is a bracket alone) becomes one line, or one for each item of its array, as does
 * a list that is the first line; every other file passes as it is. Holds at most one document of `maxLineBytes`.
 */
export async function* joinDocument(
  lines: AsyncIterable<SourceLine>,
  { maxLineBytes }: DocumentOptions,
): AsyncGenerator<SourceLine> {
  let held: SourceLine[] | undefined;
  let heldBytes = 0;
  let isFirst = true;
  for await (const line of lines) {
    if (isFirst && isOpeningBracket(line)) held = [];
    const isList = isFirst && held === undefined && !line.isTooLong && beginsList(line);
    isFirst = false;
    if (held === undefined) {
      yield* isList ? documentOf([line]) : [line];
      continue;
    }
    held.push(line);
    heldBytes += line.byteLength + 1;
    if (heldBytes <= maxLineBytes && !line.isTooLong) continue;
    yield* held;
    held = undefined;
  }
  if (held !== undefined) yield* documentOf(held);
}

function isOpeningBracket({ bytes }: SourceLine): boolean {
  const text = bytes.length <= 16 ? Buffer.from(bytes).toString('latin1').trim() : '';
  return text === '{' || text === '[';
}

/** A whole list in one line, as `jq -s -c` writes it. */
function beginsList({ bytes }: SourceLine): boolean {
  return Buffer.from(bytes.subarray(0, 16)).toString('latin1').trimStart().startsWith('[');
}

/** Text that is no document after all stays lines. */
function documentOf(lines: readonly SourceLine[]): readonly SourceLine[] {
  const [first] = lines;
  const bytes = flattenWhitespace(concatBytes(lines.flatMap(({ bytes: part }) => [part, newline])));
  const value = parsed(bytes);
  if (first === undefined || value === undefined) return lines;
  const whole = { ...first, bytes, byteLength: bytes.length, isTerminated: true };
  if (!Array.isArray(value)) return [whole];
  return sliceItems(bytes).map(({ start, end }) => ({
    ...whole,
    bytes: bytes.subarray(start, end),
    byteOffset: first.byteOffset + start,
    byteLength: end - start,
  }));
}

const newline = Uint8Array.of(0x0a);

function parsed(bytes: Uint8Array): JsonValue | undefined {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}
