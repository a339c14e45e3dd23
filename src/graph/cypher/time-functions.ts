import { weekDayOf } from './calendar.ts';
import { Duration } from './duration.ts';
import { Instant } from './instant.ts';
import type { Fail } from './operators.ts';
import { instantOfParts } from './time-parts.ts';
import { CypherMap, kindOf, type Value } from './values.ts';

const midnight = 'T00:00:00Z';

/** A text, another time, or a map of its parts. */
export function toInstant(value: Value, hasTime: boolean, fail: Fail): Instant {
  if (value instanceof Instant) {
    if (value.hasTime === hasTime) return value;
    return toInstant(hasTime ? `${value.text}${midnight}` : value.text.slice(0, 10), hasTime, fail);
  }
  if (value instanceof CypherMap) return instantOfParts(value, hasTime, fail);
  const instant = typeof value === 'string' ? Instant.parse(value) : undefined;
  if (instant === undefined) return fail('this is no date or time in the form of ISO 8601');
  return instant.hasTime === hasTime ? instant : toInstant(instant, hasTime, fail);
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

/** The begin of the unit that the time lies in, and of a third value the parts that are put in place of its own. */
export function truncated(values: readonly Value[], hasTime: boolean, fail: Fail): Instant {
  const [unit = null, given = null, parts] = values;
  if (typeof unit !== 'string') return fail(`a unit is a string, and this is ${kindOf(unit)}`);
  const begin = beginOf(unit, toInstant(given, true, fail), hasTime, fail);
  if (parts === undefined) return begin;
  if (!(parts instanceof CypherMap)) return fail(`a map is expected, and this is ${kindOf(parts)}`);
  const base = [hasTime ? 'datetime' : 'date', begin] as const;
  return instantOfParts(new CypherMap([base, ...parts.entries]), hasTime, fail, {
    isTruncated: true,
  });
}

function beginOf(unit: string, at: Instant, hasTime: boolean, fail: Fail): Instant {
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
  else if (name === 'weekyear') begin.setTime(weekDayOf(Number(at.member('weekYear')), 1, 1) ?? 0);
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
