import { parseDate } from './calendar.ts';
import { zoneOffset } from './zone.ts';

const nanosPerSecond = 1_000_000_000n;
const canonical = /^(-?\d{4,6}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
const written =
  /^([\dQW-]{4,10})(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?(?:\[([\w/+-]+)\])?)?$/;

/** A date or a moment, in UTC, to the nanosecond. */
export class Instant {
  /** Nanoseconds since 1970. */
  readonly nanos: bigint;
  readonly hasTime: boolean;

  constructor(nanos: bigint, hasTime: boolean) {
    this.nanos = nanos;
    this.hasTime = hasTime;
  }

  /** ISO 8601; without a zone it is UTC. Undefined for what is none. */
  static parse(text: string): Instant | undefined {
    const exact = canonical.exec(text);
    if (exact !== null) return fromParts(`${exact[1]}T${exact[2]}Z`, exact[3]);
    const parts = written.exec(text);
    if (parts === null) return undefined;
    const [, date = '', hour, minute = '00', second = '00', fraction = '', offset, name] = parts;
    const day = parseDate(date);
    if (day === undefined) return undefined;
    if (hour === undefined) return new Instant(BigInt(day) * 1_000_000n, false);
    const [h, m, s] = [Number(hour), Number(minute), Number(second)];
    if (h > 23 || m > 59 || s > 59) return undefined;
    const local = day + ((h * 60 + m) * 60 + s) * 1000;
    // The offset tells the moment, also where the zone is named beside it.
    const ahead = zoneOffset(offset ?? name ?? 'Z', local);
    if (ahead === undefined || (name !== undefined && zoneOffset(name, local) === undefined))
      return undefined;
    return new Instant(BigInt(local - ahead) * 1_000_000n + BigInt(fraction.padEnd(9, '0')), true);
  }

  /** RFC 3339 with nine fraction digits, or the date alone. */
  get text(): string {
    const date = this.#date;
    if (!this.hasTime) return date.toISOString().slice(0, 10);
    return `${date.toISOString().slice(0, 19)}.${String(this.#fraction).padStart(9, '0')}Z`;
  }

  /** A member such as `year` or `epochMillis`; undefined for one that it has not. */
  member(name: string): bigint | undefined {
    const date = this.#date;
    switch (name) {
      case 'year':
        return BigInt(date.getUTCFullYear());
      case 'month':
        return BigInt(date.getUTCMonth() + 1);
      case 'day':
        return BigInt(date.getUTCDate());
      default:
        return calendarMember(date, name) ?? (this.hasTime ? this.#timeMember(name) : undefined);
    }
  }

  #timeMember(name: string): bigint | undefined {
    const date = this.#date;
    switch (name) {
      case 'hour':
        return BigInt(date.getUTCHours());
      case 'minute':
        return BigInt(date.getUTCMinutes());
      case 'second':
        return BigInt(date.getUTCSeconds());
      case 'millisecond':
        return this.#fraction / 1_000_000n;
      case 'microsecond':
        return this.#fraction / 1000n;
      case 'nanosecond':
        return this.#fraction;
      case 'epochSeconds':
        return this.#seconds;
      case 'epochMillis':
        return this.#seconds * 1000n + this.#fraction / 1_000_000n;
      case 'offsetMinutes':
      case 'offsetSeconds':
        return 0n;
      default:
        return undefined;
    }
  }

  /** What is no number; undefined for a date, which has none. */
  textMember(name: string): string | undefined {
    if (!this.hasTime) return undefined;
    return { timezone: 'Z', offset: 'Z' }[name];
  }

  get #seconds(): bigint {
    const whole = this.nanos / nanosPerSecond;
    return this.nanos < 0n && whole * nanosPerSecond !== this.nanos ? whole - 1n : whole;
  }

  get #fraction(): bigint {
    return this.nanos - this.#seconds * nanosPerSecond;
  }

  get #date(): Date {
    return new Date(Number(this.#seconds) * 1000);
  }
}

function fromParts(text: string, fraction: string | undefined): Instant | undefined {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const nanos = BigInt((fraction ?? '').padEnd(9, '0'));
  return new Instant(BigInt(ms) * 1_000_000n + nanos, true);
}

const dayMs = 86_400_000;

/** Members that tell where a day stands in its quarter, week or year; weeks are those of ISO 8601. */
function calendarMember(date: Date, name: string): bigint | undefined {
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  const day = Date.UTC(year, month, date.getUTCDate());
  const sinceMonth = (from: number): bigint => BigInt((day - Date.UTC(year, from)) / dayMs + 1);
  const dayOfWeek = date.getUTCDay() === 0 ? 7 : date.getUTCDay();
  // A week belongs to the year that has its Thursday.
  const thursday = day + (4 - dayOfWeek) * dayMs;
  const weekYear = new Date(thursday).getUTCFullYear();
  switch (name) {
    case 'quarter':
      return BigInt(Math.floor(month / 3) + 1);
    case 'week':
      return BigInt(Math.floor((thursday - Date.UTC(weekYear, 0)) / dayMs / 7) + 1);
    case 'weekYear':
      return BigInt(weekYear);
    case 'dayOfQuarter':
    case 'quarterDay':
      return sinceMonth(month - (month % 3));
    case 'ordinalDay':
      return sinceMonth(0);
    case 'dayOfWeek':
    case 'weekDay':
      return BigInt(dayOfWeek);
    default:
      return undefined;
  }
}
