import { once } from 'node:events';
import { exitCodes } from './exit-code.ts';

/** Where a verb writes: people's text and `--json` to `out`, progress and trouble to `err`. */
export interface Printer {
  out(text: string): void;
  err(text: string): void;
  /** Raw bytes to `out`; resolves when the reader keeps up. */
  bytes(chunk: Uint8Array): Promise<void>;
  /** A line that the next one replaces on a terminal; on anything else only every tenth is shown. */
  progress(text: string): void;
}

/**
 * A reader that has seen enough (`| head`) closes its end; the next write fails, and nobody is left to be told. A verb ends there, as tools of
 * the shell do; what cannot be written to standard error is left out.
 */
export function endQuietlyWithReader({ isDaemon }: { readonly isDaemon: boolean }): void {
  const isGone = (error: Error): boolean => 'code' in error && error.code === 'EPIPE';
  process.stdout.on('error', (error) => {
    if (!isGone(error)) throw error;
    if (!isDaemon) process.exit(exitCodes.done);
  });
  process.stderr.on('error', (error) => {
    if (!isGone(error)) throw error;
  });
}

export function consolePrinter(): Printer {
  const isTerminal = process.stderr.isTTY;
  let shown = 0;
  let isOpen = false;
  const endLine = (): void => {
    if (isOpen) process.stderr.write('\n');
    isOpen = false;
  };
  return {
    out(text) {
      endLine();
      process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    err(text) {
      endLine();
      process.stderr.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    async bytes(chunk) {
      if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
    },
    progress(text) {
      if (isTerminal) {
        process.stderr.write(`\r\u001b[K${text}`);
        isOpen = true;
      } else if (shown++ % 10 === 0) process.stderr.write(`${text}\n`);
    },
  };
}

/** What somebody has asked for by name keeps that name; our own columns have headings. */
export function resultTable(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  return aligned(names, names, rows);
}

/** A table with aligned columns; numbers to the right. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const headings = columns.map((column) => column.toUpperCase());
  return aligned(columns, headings, rows);
}

function aligned(
  columns: readonly string[],
  headings: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  const cells = rows.map((row) =>
    row.map((cell, at) =>
      cellText(cell, at === columns.length - 1 ? lastCharactersMax : cellCharactersMax),
    ),
  );
  const widths = columns.map((column, at) =>
    Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const isNumber = columns.map(
    (_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) =>
        isNumber[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(headings), ...cells.map(line)].join('\n');
}

const cellCharactersMax = 80;
/** The last column pushes nothing aside. */
const lastCharactersMax = 400;

/** Any JSON value as text: a string as it is, nothing for what is absent. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

function cellText(cell: unknown, charactersMax: number): string {
  if (cell === null || cell === undefined) return '-';
  const text = plainText(cell);
  const flat = text.replace(/\s+/g, ' ');
  return flat.length > charactersMax ? `${flat.slice(0, charactersMax - 1)}…` : flat;
}

/** `name: value` lines of an object, nested objects indented. */
export function facts(value: Readonly<Record<string, unknown>>, indent = ''): string {
  const names = Object.keys(value);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names
    .map((name) => {
      const member = value[name];
      if (Array.isArray(member) && member.length === 0)
        return `${indent}${name.padEnd(width)}  none`;
      if (Array.isArray(member))
        return `${indent}${name}\n${member.map((one) => `${indent}  - ${cellText(one, lastCharactersMax)}`).join('\n')}`;
      if (member !== null && typeof member === 'object' && Object.keys(member).length === 0)
        return `${indent}${name.padEnd(width)}  none`;
      if (member !== null && typeof member === 'object')
        return `${indent}${name}\n${facts(member as Readonly<Record<string, unknown>>, `${indent}  `)}`;
      return `${indent}${name.padEnd(width)}  ${cellText(member, lastCharactersMax)}`;
    })
    .join('\n');
}
