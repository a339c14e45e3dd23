import { Duration } from './duration.ts';
import { Instant } from './instant.ts';
import type { Fail } from './operators.ts';
import { CypherMap, kindOf, type Value } from './values.ts';

const midnight = 'T00:00:00Z';

/** A text, another time, or a map of its parts, in UTC. */
export function toInstant(value: Value, hasTime: boolean, fail: Fail): Instant {
  if (value instanceof Instant) {
    if (value.hasTime === hasTime) return value;
    return toInstant(hasTime ? `${value.text}${midnight}` : value.text.slice(0, 10), hasTime, fail);
  }
  if (value instanceof CypherMap) return fromMap(value, hasTime, fail);
  const instant = typeof value === 'string' ? Instant.parse(value) : undefined;
  if (instant === undefined) return fail('this is no date or time in the form of ISO 8601');
  return instant.hasTime === hasTime ? instant : toInstant(instant, hasTime, fail);
}

const dateParts = ['year', 'month', 'day'];
const fractionParts = ['millisecond', 'microsecond', 'nanosecond'];
const timeParts = ['hour', 'minute', 'second', ...fractionParts];

function fromMap(map: CypherMap, hasTime: boolean, fail: Fail): Instant {
  const whole = (name: string, otherwise: bigint): bigint => {
    const value = map.get(name);
    if (value === null) return otherwise;
    return typeof value === 'bigint'
      ? value
      : fail(`${name} is an integer, and this is ${kindOf(value)}`);
  };
  const names = [...map.entries.keys()];
  const zone = map.get('timezone');
  if (zone !== null && zone !== 'Z' && zone !== 'UTC')
    return fail("a time of parts is in UTC: timezone is 'Z'");
  const [first] = names;
  if (hasTime && names.length === 1 && (first === 'epochMillis' || first === 'epochSeconds'))
    return new Instant(
      whole(first, 0n) * (first === 'epochMillis' ? 1_000_000n : 1_000_000_000n),
      true,
    );
  const known = new Set(hasTime ? [...dateParts, ...timeParts, 'timezone'] : dateParts);
  const other = names.find((name) => !known.has(name));
  if (other !== undefined) return fail(`a time is not made of ${other} here`);
  const steps = [...dateParts, 'hour', 'minute', 'second', 'fraction'];
  const isGiven = (step: string): boolean =>
    step === 'fraction' ? fractionParts.some((name) => names.includes(name)) : names.includes(step);
  const from = steps.findIndex((step) => !isGiven(step));
  const behind = from < 0 ? undefined : steps.slice(from).find(isGiven);
  if (from === 0 || behind !== undefined)
    return fail(`a time of parts has no ${behind ?? 'part'} without its ${steps[from]}`);
  const [year, month, day] = [whole('year', 1970n), whole('month', 1n), whole('day', 1n)];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDate = date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
  const [hour, minute, second] = [whole('hour', 0n), whole('minute', 0n), whole('second', 0n)];
  if (!isDate || hour > 23n || minute > 59n || second > 59n)
    return fail('there is no such date or time');
  const fraction =
    whole('millisecond', 0n) * 1_000_000n +
    whole('microsecond', 0n) * 1_000n +
    whole('nanosecond', 0n);
  const seconds = BigInt(date.getTime()) / 1000n + hour * 3600n + minute * 60n + second;
  return new Instant(seconds * 1_000_000_000n + fraction, hasTime);
}

const lengths: Readonly<Record<string, number>> = {
  years: 12,
  quarters: 3,
  months: 1,
};
const dayLengths: Readonly<Record<string, number>> = { weeks: 7, days: 1 };
const secondLengths: Readonly<Record<string, number>> = { hours: 3600, minutes: 60, seconds: 1 };
const fractions: Readonly<Record<string, number>> = {
  milliseconds: 1e6,
  microseconds: 1e3,
  nanoseconds: 1,
};

export function toDuration(value: Value, fail: Fail): Duration {
  if (value instanceof Duration) return value;
  if (value instanceof CypherMap) {
    const sums = [lengths, dayLengths, secondLengths, fractions].map((units) =>
      [...value.entries].reduce((sum, [name, count]) => {
        const length = Object.hasOwn(units, name) ? units[name] : undefined;
        if (length === undefined) return sum;
        if (typeof count !== 'bigint' && typeof count !== 'number')
          return fail(`${name} of a duration is a number, and this is ${kindOf(count)}`);
        return sum + Number(count) * length;
      }, 0),
    );
    const all = { ...lengths, ...dayLengths, ...secondLengths, ...fractions };
    const other = [...value.entries.keys()].find((name) => !Object.hasOwn(all, name));
    if (other !== undefined) return fail(`a duration is not made of ${other}`);
    const [months = 0, days = 0, seconds = 0, nanos = 0] = sums;
    return Duration.of(months, days, seconds, nanos);
  }
  const duration = typeof value === 'string' ? Duration.parse(value) : undefined;
  return duration ?? fail('this is no duration in the form of ISO 8601');
}

/** Dates count from midnight. */
function ends(values: readonly Value[], fail: Fail): readonly [Instant, Instant] {
  const [from = null, to = null] = values;
  if (from instanceof Instant && to instanceof Instant) return [from, to];
  return fail(
    `a duration is between two times, and this is ${kindOf(from instanceof Instant ? to : from)}`,
  );
}

export function durationBetween(
  part: 'all' | 'months' | 'days' | 'seconds',
  values: readonly Value[],
  fail: Fail,
): Duration {
  const [from, to] = ends(values, fail);
  const nanos = to.nanos - from.nanos;
  if (part === 'seconds') return new Duration(0n, 0n, 0n, nanos);
  if (part === 'days') return new Duration(0n, nanos / 86_400_000_000_000n, 0n, 0n);
  const whole = Duration.between(from, to);
  return part === 'all' ? whole : new Duration(whole.months, 0n, 0n, 0n);
}

const yearUnits: Readonly<Record<string, number>> = {
  millennium: 1000,
  century: 100,
  decade: 10,
  year: 1,
};
const nanoUnits: Readonly<Record<string, bigint>> = {
  day: 86_400_000_000_000n,
  hour: 3_600_000_000_000n,
  minute: 60_000_000_000n,
  second: 1_000_000_000n,
  millisecond: 1_000_000n,
  microsecond: 1_000n,
};

/** The begin of the unit that the time lies in. */
export function truncated(values: readonly Value[], hasTime: boolean, fail: Fail): Instant {
  const [unit = null, given = null] = values;
  if (typeof unit !== 'string') return fail(`a unit is a string, and this is ${kindOf(unit)}`);
  const at = toInstant(given, true, fail);
  const date = new Date(Number(at.nanos / 1_000_000n - (at.nanos % 1_000_000n < 0n ? 1n : 0n)));
  const name = unit.toLowerCase();
  const nanos = Object.hasOwn(nanoUnits, name) ? nanoUnits[name] : undefined;
  if (nanos !== undefined && (hasTime || name === 'day')) {
    const rest = ((at.nanos % nanos) + nanos) % nanos;
    return new Instant(at.nanos - rest, hasTime);
  }
  const years = Object.hasOwn(yearUnits, name) ? yearUnits[name] : undefined;
  const begin = new Date(0);
  const year = date.getUTCFullYear();
  if (years !== undefined) begin.setUTCFullYear(Math.floor(year / years) * years, 0, 1);
  else if (name === 'quarter')
    begin.setUTCFullYear(year, Math.floor(date.getUTCMonth() / 3) * 3, 1);
  else if (name === 'month') begin.setUTCFullYear(year, date.getUTCMonth(), 1);
  else if (name === 'week')
    begin.setUTCFullYear(
      year,
      date.getUTCMonth(),
      date.getUTCDate() - ((date.getUTCDay() + 6) % 7),
    );
  else return fail(`there is no unit ${unit}`);
  return new Instant(BigInt(begin.getTime()) * 1_000_000n, hasTime);
}
