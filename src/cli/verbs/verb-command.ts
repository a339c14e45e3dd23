import { InvalidArgumentError } from 'commander';
import { usage } from '../errors.ts';
import { plainText, table } from '../print.ts';

/** A verb of room ops as it is typed and shown. */
export interface VerbCommand {
  /** Name of the verb in room ops; chosen by how it was called where one word stands for two. */
  readonly verb: string | ((args: readonly string[], options?: Row) => string);
  readonly words: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly options?: readonly (readonly [flags: string, help: string])[];
  /** It changes something, so it may be named by a key. */
  readonly isAct?: boolean;
  readonly isDestructive?: boolean;
  /** Without --yes it only shows what it would touch. */
  readonly hasDryRun?: boolean;
  input?(
    options: Readonly<Record<string, unknown>>,
    args: readonly string[],
  ): Record<string, unknown>;
  render?(answer: Readonly<Record<string, unknown>>): string;
  /** The answer tells of something wrong: exit code 1 (D20). */
  hasFindings?(answer: Readonly<Record<string, unknown>>): boolean;
}

export function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('it must be a whole number of 1 or more');
  return value;
}

export type Row = Readonly<Record<string, unknown>>;

export function rowsOf(answer: Row, member: string, columns: readonly string[]): string {
  const list = (answer[member] ?? []) as readonly Row[];
  if (list.length === 0) return 'none';
  const text = table(
    columns,
    list.map((row) => columns.map((column) => row[column])),
  );
  return answer['next_page_token'] === undefined || answer['next_page_token'] === null
    ? text
    : `${text}\nmore: --page-token ${plainText(answer['next_page_token'])}`;
}

export const paging = [
  ['--limit <n>', 'rows of a page (1 to 1000)'],
  ['--page-token <token>', 'the page after the one that gave this token'],
] as const;

export function pageInput(options: Row): Record<string, unknown> {
  return {
    ...(options['limit'] === undefined ? {} : { limit: count(plainText(options['limit'])) }),
    ...(options['pageToken'] === undefined ? {} : { page_token: options['pageToken'] }),
  };
}

/** `NAME=VALUE` pairs, values as they are: an id may consist of digits. */
export function textParameters(pairs: unknown): Record<string, string> {
  const list = (pairs ?? []) as readonly string[];
  return Object.fromEntries(
    list.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usage({ problem: `"${pair}" is not NAME=VALUE` });
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Values that are JSON are taken as such: `-p ids=["a","b"]`. */
export function jsonParameters(pairs: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(textParameters(pairs)).map(([name, value]) => [name, jsonOrText(value)]),
  );
}

function jsonOrText(value: string): unknown {
  if (!/^(?:[[{"-]|true$|false$|null$|\d)/.test(value)) return value;
  const parsed = parseOrUndefined(value);
  return parsed === undefined ? value : parsed;
}

/** Undefined for what is no JSON, which is a text then. */
function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
