import { dayOf, ordinalDayOf, quarterDayOf, weekDayOf } from './calendar.ts';
import { Instant } from './instant.ts';
import type { Fail } from './operators.ts';
import { kindOf, type CypherMap } from './values.ts';
import { zoneOffset } from './zone.ts';

const dateParts = ['year', 'month', 'day'];
const otherDateParts = ['quarter', 'dayOfQuarter', 'week', 'dayOfWeek', 'ordinalDay', 'date'];
const fractionParts = ['millisecond', 'microsecond', 'nanosecond'];
const timeParts = ['hour', 'minute', 'second'];

/** Whole numbers by name, with those of another time where a map has none of its own. */
interface Parts {
  has(...names: readonly string[]): boolean;
  number(name: string, otherwise: number): number;
}

/** A map of parts: of a day by month, week, quarter or day of the year, of a time, of a zone; or of another time and what differs from it. */
export function instantOfParts(
  map: CypherMap,
  hasTime: boolean,
  fail: Fail,
  { isTruncated = false }: { readonly isTruncated?: boolean } = {},
): Instant {
  const names = [...map.entries.keys()];
  const known = new Set([...dateParts, ...otherDateParts]);
  const timed = [...timeParts, ...fractionParts, 'timezone', 'datetime'];
  for (const name of hasTime ? timed : ['datetime']) known.add(name);
  const [first] = names;
  if (hasTime && names.length === 1 && (first === 'epochMillis' || first === 'epochSeconds')) {
    const unit = first === 'epochMillis' ? 1_000_000n : 1_000_000_000n;
    return new Instant(BigInt(whole(map, first, fail) ?? 0) * unit, true);
  }
  const other = names.find((name) => !known.has(name));
  if (other !== undefined) return fail(`a time is not made of ${other} here`);
  const zone = map.get('timezone') ?? 'Z';
  if (typeof zone !== 'string') return fail(`timezone is a string, and this is ${kindOf(zone)}`);
  const base = baseOf(map, zone, fail);
  requireWhole(names, base, fail);
  const parts: Parts = {
    has: (...some) => some.some((name) => names.includes(name)),
    number: (name, otherwise) =>
      whole(map, name, fail) ?? Number(base?.member(name) ?? BigInt(otherwise)),
  };
  const day = dayOfParts(parts);
  const [hour, minute, second] = timeParts.map((name) => parts.number(name, 0));
  if (day === undefined || !isClock(hour, minute, second))
    return fail('there is no such date or time');
  if (!hasTime) return new Instant(BigInt(day) * 1_000_000n, false);
  const local = day + (((hour ?? 0) * 60 + (minute ?? 0)) * 60 + (second ?? 0)) * 1000;
  return atZone(local, BigInt(fractionOf(parts, isTruncated)), zone, fail);
}

function isClock(hour = 0, minute = 0, second = 0): boolean {
  const isIn = (value: number, most: number): boolean => value >= 0 && value <= most;
  return isIn(hour, 23) && isIn(minute, 59) && isIn(second, 59);
}

/** The time that the others are said beside, as the clocks of the zone show it. */
function baseOf(map: CypherMap, zone: string, fail: Fail): Instant | undefined {
  for (const name of ['datetime', 'date']) {
    const value = map.get(name);
    if (value === null) continue;
    if (!(value instanceof Instant)) return fail(`${name} is a time, and this is ${kindOf(value)}`);
    const day = Instant.parse(value.text.slice(0, 10));
    if (name === 'date') return day;
    const ms = Number(value.nanos / 1_000_000n);
    const ahead = zoneOffset(zone, ms + (zoneOffset(zone, ms) ?? 0)) ?? 0;
    return new Instant(value.nanos + BigInt(ahead) * 1_000_000n, value.hasTime);
  }
  return undefined;
}

/** No part without the larger ones, where nothing else tells them. */
function requireWhole(names: readonly string[], base: Instant | undefined, fail: Fail): void {
  if (base !== undefined) return;
  const isOther = otherDateParts.some((name) => names.includes(name));
  const days = isOther ? ['year'] : dateParts;
  const steps = [...days, ...timeParts, 'fraction'];
  const isGiven = (step: string): boolean =>
    step === 'fraction' ? fractionParts.some((name) => names.includes(name)) : names.includes(step);
  const from = steps.findIndex((step) => !isGiven(step));
  const behind = from < 0 ? undefined : steps.slice(from).find(isGiven);
  if (from === 0 || behind !== undefined)
    fail(`a time of parts has no ${behind ?? 'part'} without its ${steps[from]}`);
}

function dayOfParts({ has, number }: Parts): number | undefined {
  if (has('week', 'dayOfWeek')) {
    const year = has('year') ? number('year', 1970) : number('weekYear', 1970);
    return weekDayOf(year, number('week', 1), number('dayOfWeek', 1));
  }
  const year = number('year', 1970);
  if (has('ordinalDay')) return ordinalDayOf(year, number('ordinalDay', 1));
  if (has('quarter', 'dayOfQuarter'))
    return quarterDayOf(year, number('quarter', 1), number('dayOfQuarter', 1));
  return dayOf(year, number('month', 1), number('day', 1));
}

/** What is given stands for the whole fraction; of a time that was cut off to a unit, beside what is coarser. */
function fractionOf({ has, number }: Parts, isTruncated: boolean): number {
  if (!has(...fractionParts)) return number('nanosecond', 0);
  const [ms = 0, us = 0, ns = 0] = fractionParts.map((name) => (has(name) ? number(name, 0) : 0));
  const sum = ms * 1_000_000 + us * 1000 + ns;
  if (!isTruncated || has('millisecond') || sum >= 1_000_000) return sum;
  const isBelowMicro = !has('microsecond') && sum < 1000;
  return sum + (isBelowMicro ? number('microsecond', 0) * 1000 : number('millisecond', 0) * 1e6);
}

function atZone(local: number, fraction: bigint, zone: string, fail: Fail): Instant {
  const ahead = zoneOffset(zone, local);
  if (ahead === undefined) return fail(`there is no time zone ${zone}`);
  return new Instant(BigInt(local - ahead) * 1_000_000n + fraction, true);
}

function whole(map: CypherMap, name: string, fail: Fail): number | undefined {
  const value = map.get(name);
  if (value === null) return undefined;
  if (typeof value === 'bigint') return Number(value);
  return fail(`${name} is an integer, and this is ${kindOf(value)}`);
}
