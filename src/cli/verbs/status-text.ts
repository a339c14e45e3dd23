import { formatBytes } from '#base';
import { facts, plainText } from '../print.ts';
import type { Row } from './verb-command.ts';

/** What the answer holds for the predecessor's clients alone is the same told twice to people; `--json` keeps it. */
const toldTwice = ['server_version', 'active_sessions', 'neo4j_connected', 'metrics'];

/** The books for people: what is wrong comes first, in sentences; sizes and times have their units. `--json` has the numbers. */
export function statusText(answer: Row): string {
  const { status, state, degraded, ...rest } = answer;
  const reasons = (degraded ?? []) as readonly Row[];
  const sentences = reasons.map(
    ({ code, message, since }) =>
      `  ${plainText(code)} since ${plainText(since)}\n    ${plainText(message)}`,
  );
  const others = Object.entries(rest).filter(([name]) => !toldTwice.includes(name));
  return [
    facts({ status, state }),
    ...(sentences.length === 0 ? [] : ['degraded', ...sentences]),
    facts(withUnits(Object.fromEntries(others))),
  ].join('\n');
}

function withUnits(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      // Bytes of each component, and when they were measured.
      if (name === 'storage' && isRow(value)) return [name, bytesOf(value)];
      if (isRow(value)) return [name, withUnits(value)];
      const [, what, unit] = /^(.+)_(bytes|ms|seconds)$/.exec(name) ?? [];
      if (what === undefined || unit === undefined) return [name, value];
      return [what, typeof value === 'number' ? textOf(value, unit) : value];
    }),
  );
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bytesOf(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? formatBytes(value) : value,
    ]),
  );
}

function textOf(value: number, unit: string): string {
  if (unit === 'bytes') return formatBytes(value);
  return spanText(unit === 'ms' ? value : value * 1000);
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** The two largest units: `2 d 3 h`, `5 min 4 s`, `12 s`, `340 ms`. */
function spanText(ms: number): string {
  const at = units.findIndex(([, length]) => ms >= length);
  const [first, second] = at === -1 ? [] : units.slice(at);
  if (first === undefined) return `${Math.round(ms)} ms`;
  const [name, length] = first;
  const whole = `${Math.floor(ms / length)} ${name}`;
  if (second === undefined) return whole;
  return `${whole} ${Math.floor((ms % length) / second[1])} ${second[0]}`;
}
