import type { Answer } from './asker.ts';

export interface FittedAnswer {
  /** Each row as an object of its columns. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly has_more: boolean;
}

/** UTF-16 units of JSON that an agent gets of one question. */
const textLengthMax = 256 * 1024;

/** As many rows as fit; what is left out is told. Pure. */
export function fitAnswer({ columns, rows, has_more: hasMore }: Answer): FittedAnswer {
  const kept: Readonly<Record<string, unknown>>[] = [];
  let length = 0;
  for (const cells of rows) {
    const row = Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? null]));
    length += JSON.stringify(row).length + 1;
    if (length > textLengthMax) return { rows: kept, has_more: true };
    kept.push(row);
  }
  return { rows: kept, has_more: hasMore };
}
