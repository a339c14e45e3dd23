import { Instant } from './instant.ts';

const nanosPerSecond = 1_000_000_000n;
const secondsPerDay = 86_400n;
/** A twelfth of 365.2425 days. */
const secondsPerMonth = 2_629_746;

/** Months, days and seconds apart: none of them is a fixed number of another. Nanoseconds are those of the second, 0 or more. */
export class Duration {
  readonly months: bigint;
  readonly days: bigint;
  readonly seconds: bigint;
  readonly nanos: bigint;

  constructor(months: bigint, days: bigint, seconds: bigint, nanos: bigint) {
    const all = seconds * nanosPerSecond + nanos;
    this.months = months;
    this.days = days;
    this.seconds = floorDivided(all, nanosPerSecond);
    this.nanos = all - this.seconds * nanosPerSecond;
  }

  /** What is left of a unit that is no whole number goes on to the next smaller one. */
  static of(months: number, days: number, seconds: number, nanos: number | bigint = 0): Duration {
    const wholeMonths = Math.trunc(months);
    const allDays = days + ((months - wholeMonths) * secondsPerMonth) / Number(secondsPerDay);
    const wholeDays = Math.trunc(allDays);
    const allSeconds = seconds + (allDays - wholeDays) * Number(secondsPerDay);
    const wholeSeconds = Math.trunc(allSeconds);
    const rest = BigInt(Math.round((allSeconds - wholeSeconds) * 1e9));
    const more = typeof nanos === 'bigint' ? nanos : BigInt(Math.trunc(nanos));
    return new Duration(BigInt(wholeMonths), BigInt(wholeDays), BigInt(wholeSeconds), rest + more);
  }

  /** ISO 8601: `P1Y2M3W4DT5H6M7.5S`. Undefined for what is none. */
  static parse(text: string): Duration | undefined {
    const unit = (name: string): string => `(?:([+-]?\\d+(?:[.,]\\d+)?)${name})?`;
    const date = ['Y', 'M', 'W', 'D'].map(unit).join('');
    const form = new RegExp(
      `^([+-]?)P(?=.)${date}(?:T(?=.)${['H', 'M', 'S'].map(unit).join('')})?$`,
      'i',
    );
    const match = form.exec(text.trim());
    if (match === null) return undefined;
    const sign = match[1] === '-' ? -1 : 1;
    const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match
      .slice(2)
      .map((part: string | undefined) => sign * Number((part ?? '0').replace(',', '.')));
    return Duration.of(
      years * 12 + months,
      weeks * 7 + days,
      hours * 3600 + minutes * 60 + seconds,
    );
  }

  /** From one moment to another: whole months, then whole days, then the rest. */
  static between(from: Instant, to: Instant): Duration {
    const months = monthsBetween(from, to);
    const afterMonths = plusMonths(from, months);
    const days = (to.nanos - afterMonths.nanos) / (secondsPerDay * nanosPerSecond);
    const rest = to.nanos - afterMonths.nanos - days * secondsPerDay * nanosPerSecond;
    return new Duration(months, days, 0n, rest);
  }

  /** As Neo4j writes it. */
  get text(): string {
    const parts = [
      unitText(this.months / 12n, 'Y'),
      unitText(this.months % 12n, 'M'),
      unitText(this.days, 'D'),
    ].join('');
    if (this.seconds === 0n && this.nanos === 0n) return parts === '' ? 'PT0S' : `P${parts}`;
    const isNegative = this.seconds < 0n && this.nanos !== 0n;
    const seconds = isNegative ? this.seconds + 1n : this.seconds;
    const nanos = isNegative ? nanosPerSecond - this.nanos : this.nanos;
    const fraction = nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
    const last = seconds % 60n;
    const sign = isNegative && last === 0n ? '-' : '';
    const lastText = last === 0n && fraction === '' ? '' : `${sign}${last}${fraction}S`;
    const hours = unitText(seconds / 3600n, 'H');
    return `P${parts}T${hours}${unitText((seconds / 60n) % 60n, 'M')}${lastText}`;
  }

  /** Seconds, a month counted as a twelfth of a year: for ORDER BY. */
  get averageNanos(): bigint {
    const seconds =
      this.months * BigInt(secondsPerMonth) + this.days * secondsPerDay + this.seconds;
    return seconds * nanosPerSecond + this.nanos;
  }

  plus(other: Duration, sign: 1n | -1n = 1n): Duration {
    return new Duration(
      this.months + sign * other.months,
      this.days + sign * other.days,
      this.seconds + sign * other.seconds,
      this.nanos + sign * other.nanos,
    );
  }

  times(factor: number): Duration {
    return Duration.of(
      Number(this.months) * factor,
      Number(this.days) * factor,
      Number(this.seconds) * factor,
      Math.round(Number(this.nanos) * factor),
    );
  }

  /** A member such as `seconds` or `minutesOfHour`; undefined for one that it has not. */
  member(name: string): bigint | undefined {
    const all = this.seconds * nanosPerSecond + this.nanos;
    const read: Readonly<Record<string, bigint>> = {
      years: this.months / 12n,
      quarters: this.months / 3n,
      months: this.months,
      weeks: this.days / 7n,
      days: this.days,
      hours: this.seconds / 3600n,
      minutes: this.seconds / 60n,
      seconds: this.seconds,
      milliseconds: all / 1_000_000n,
      microseconds: all / 1_000n,
      nanoseconds: all,
      quartersOfYear: (this.months / 3n) % 4n,
      monthsOfQuarter: this.months % 3n,
      monthsOfYear: this.months % 12n,
      daysOfWeek: this.days % 7n,
      minutesOfHour: (this.seconds / 60n) % 60n,
      secondsOfMinute: this.seconds % 60n,
      millisecondsOfSecond: this.nanos / 1_000_000n,
      microsecondsOfSecond: this.nanos / 1_000n,
      nanosecondsOfSecond: this.nanos,
    };
    return Object.hasOwn(read, name) ? read[name] : undefined;
  }
}

/** A date moves by whole days alone. */
export function plusDuration(at: Instant, duration: Duration, sign: 1n | -1n): Instant {
  const moved = plusMonths(at, sign * duration.months);
  const time = sign * (duration.seconds * nanosPerSecond + duration.nanos);
  const day = secondsPerDay * nanosPerSecond;
  const rest = at.hasTime ? time : (time / day) * day;
  return new Instant(moved.nanos + sign * duration.days * day + rest, at.hasTime);
}

/** The same day of another month, or its last one. */
function plusMonths(at: Instant, months: bigint): Instant {
  if (months === 0n) return at;
  const day = floorDivided(at.nanos, secondsPerDay * nanosPerSecond);
  const date = new Date(Number(day) * 86_400_000);
  const first = new Date(0);
  first.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + Number(months), 1);
  const last = new Date(first);
  last.setUTCMonth(first.getUTCMonth() + 1, 0);
  first.setUTCDate(Math.min(date.getUTCDate(), last.getUTCDate()));
  const moved = BigInt(first.getTime()) * 1_000_000n;
  return new Instant(moved + at.nanos - day * secondsPerDay * nanosPerSecond, at.hasTime);
}

function monthsBetween(from: Instant, to: Instant): bigint {
  const [a, b] = [from, to].map(({ nanos }) => new Date(Number(floorDivided(nanos, 1_000_000n))));
  if (a === undefined || b === undefined) return 0n;
  let months = BigInt(
    (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth(),
  );
  if (months > 0n && plusMonths(from, months).nanos > to.nanos) months -= 1n;
  if (months < 0n && plusMonths(from, months).nanos < to.nanos) months += 1n;
  return months;
}

function unitText(count: bigint, unit: string): string {
  return count === 0n ? '' : `${count}${unit}`;
}

export function floorDivided(value: bigint, by: bigint): bigint {
  const whole = value / by;
  return value % by !== 0n && value < 0n !== by < 0n ? whole - 1n : whole;
}

/** As `toString()` of a duration, for stores that have durations of their own. */
export function durationText(months: bigint, days: bigint, seconds: bigint, nanos: bigint): string {
  return new Duration(months, days, seconds, nanos).text;
}
