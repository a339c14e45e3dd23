import { nearest, parseBytes } from '#base';
import type { KeySpec, KindValues } from './key-spec.ts';
import { parseRedactRule } from './redact-rules.ts';

export type ParsedValue =
  | { readonly value: KindValues[keyof KindValues] }
  | { readonly problem: string };

type Parse = (text: string, spec: KeySpec) => ParsedValue;

const parsers: Readonly<Record<keyof KindValues, Parse>> = {
  text: (text) => (text === '' ? { problem: 'is empty' } : { value: text }),
  list: (text, spec) => {
    const value = text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    const problem =
      spec.items === 'redaction'
        ? value.map(parseRedactRule).find((rule) => typeof rule === 'string')
        : undefined;
    return problem === undefined ? { value } : { problem };
  },
  count: (text, spec) => number(text, /^\d+$/.test(text) ? Number(text) : undefined, spec, '100'),
  size: (text, spec) => number(text, parseBytes(text), spec, '20MiB'),
  duration: (text, spec) => number(text, parseDurationMs(text), spec, '5s'),
  address: (text) =>
    parseAddress(text) === undefined
      ? { problem: `must be HOST:PORT, such as 127.0.0.1:7117, not ${JSON.stringify(text)}` }
      : { value: text },
  choice: (text, spec) =>
    spec.choices?.includes(text) === true
      ? { value: text }
      : { problem: choiceProblem(text, spec.choices ?? []) },
  flag: (text) =>
    text === 'true' || text === 'false'
      ? { value: text === 'true' }
      : { problem: `must be true or false, not ${JSON.stringify(text)}` },
};

function choiceProblem(text: string, choices: readonly string[]): string {
  const guess = nearest(text, choices);
  const hint = guess === undefined ? '' : `; did you mean ${guess}?`;
  return `must be ${choices.join(' or ')}, not ${JSON.stringify(text)}${hint}`;
}

/** Parses a setting as it was written; the problem reads on after the key's name. */
export function parseValue(text: string, spec: KeySpec): ParsedValue {
  return parsers[spec.kind](text.trim(), spec);
}

function number(
  text: string,
  value: number | undefined,
  spec: KeySpec,
  example: string,
): ParsedValue {
  const least = spec.least ?? 1;
  if (value === undefined)
    return {
      problem: `must be a ${spec.kind}, such as ${example}, not ${JSON.stringify(text)}`,
    };
  return value < least ? { problem: `must be at least ${least}, not ${text}` } : { value };
}

const unitsMs: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `5s`, `250ms`, `1.5h`, `4000` as milliseconds; undefined when it is no duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text);
  const factor = unitsMs[match?.[2] ?? 'none'];
  if (match === null || factor === undefined) return undefined;
  const ms = Math.round(Number(match[1]) * factor);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

export interface ListenAddress {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:7117`, `[::1]:0`, `localhost:80`; undefined for anything else. */
export function parseAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}
