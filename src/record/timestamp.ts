/** An instant as the graph keeps it. */
export interface Timestamp {
  /** RFC 3339 UTC with exactly nine fraction digits; such texts sort as the instants do (D26). */
  readonly canonical: string;
  /** Milliseconds since 1970, cut towards zero: the part of an event's node id (D21). */
  readonly epochMs: number;
}

const dayMs = 86_400_000;
const firstMs: number = utcMs(1, 1, 1);
const lastMs: number = utcMs(10_000, 1, 1) - 1;

/**
 * Reads ISO 8601 as Python 3.11's `fromisoformat` does, which decides what the existing clients may send (ING-911): basic and extended forms,
 * week dates, dates alone, any one character between date and time, a comma as fraction mark, any number of fraction digits. Keeps nine
 * digits where Python keeps six. Without a zone it is UTC, on every machine (PN-27). Undefined for everything else, second 60 included.
 */
export function parseTimestamp(text: string): Timestamp | undefined {
  return parseCommon(text) ?? parseAny(text);
}

/** The common form in UTC, of which the canonical one is a copy: 0.5 µs instead of 3. */
function parseCommon(text: string): Timestamp | undefined {
  if (!commonForm.test(text) || text.startsWith('9999')) return undefined;
  const isUtc = text.endsWith('Z');
  if (!isUtc && !text.endsWith('+00:00')) return undefined;
  const fraction = text.slice(20, isUtc ? -1 : -6).padEnd(9, '0');
  const seconds = text.slice(0, 19);
  const ms = Date.parse(`${seconds}Z`);
  if (ms < 0) return undefined;
  return { canonical: `${seconds}.${fraction}Z`, epochMs: ms + Number(fraction.slice(0, 3)) };
}

function parseAny(text: string): Timestamp | undefined {
  const date = parseDate(text);
  if (date === undefined) return undefined;
  const rest = text.slice(date.length);
  if (rest === '') return toTimestamp(date.ms, 0);
  const separator = String.fromCodePoint(rest.codePointAt(0) ?? 0);
  const time = parseTime(rest.slice(separator.length));
  if (time === undefined) return undefined;
  return toTimestamp(date.ms + time.ms, time.nanoseconds);
}

/** What clients write nearly always; every text of it is a time: February 29 alone depends on the year, and is not in it. */
const commonForm =
  /^[1-9]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;

/** Whether `parseTimestamp` takes it; 0.1 µs instead of 3 for the common form, which counts when every event is checked. */
export function isTimestamp(text: string): boolean {
  return (commonForm.test(text) && !text.startsWith('9999')) || parseTimestamp(text) !== undefined;
}

function toTimestamp(ms: number, nanoseconds: number): Timestamp | undefined {
  if (ms < firstMs || ms > lastMs) return undefined;
  const seconds = new Date(ms).toISOString().slice(0, 19);
  const fraction = String(nanoseconds).padStart(9, '0');
  return { canonical: `${seconds}.${fraction}Z`, epochMs: ms + fractionMs(ms, nanoseconds) };
}

/** Whole milliseconds, cut towards zero: before 1970 that is upwards. In integers, since a double of this size has 0.2 µs steps. */
function fractionMs(ms: number, nanoseconds: number): number {
  return ms < 0 ? Math.ceil(nanoseconds / 1e6) : Math.floor(nanoseconds / 1e6);
}

interface ParsedDate {
  readonly ms: number;
  /** Characters of the text that the date takes. */
  readonly length: number;
}

function parseDate(text: string): ParsedDate | undefined {
  const day = /^(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? /^(\d{4})(\d{2})(\d{2})/.exec(text);
  if (day !== null) {
    const ms = dayOf(Number(day[1]), Number(day[2]), Number(day[3]));
    return ms === undefined ? undefined : { ms, length: day[0].length };
  }
  const week = /^(\d{4})-W(\d{2})/.exec(text) ?? /^(\d{4})W(\d{2})/.exec(text);
  if (week === null) return undefined;
  const [shown] = week;
  const mark = weekdayMark(text, shown.length, shown.includes('-'));
  const weekday = mark === '' ? 1 : Number(mark.at(-1));
  const ms = weekDayOf(Number(week[1]), Number(week[2]), weekday);
  return ms === undefined ? undefined : { ms, length: shown.length + mark.length };
}

/**
 * The weekday behind a week, with its hyphen, or nothing. A hyphen or a digit there may as well be what parts date and time: as in Python, a
 * hyphen with two digits behind it parts, and of many digits without a hyphen an even count has the weekday first.
 */
function weekdayMark(text: string, at: number, hasHyphen: boolean): string {
  const rest = text.slice(at);
  if (hasHyphen) return /^-\d(?!\d)/.exec(rest)?.[0] ?? '';
  const digits = /^\d*/.exec(rest)?.[0] ?? '';
  return digits.length === 1 || digits.length % 2 === 0 ? digits.slice(0, 1) : '';
}

function dayOf(year: number, month: number, day: number): number | undefined {
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month))
    return undefined;
  return utcMs(year, month, day);
}

function weekDayOf(year: number, week: number, weekday: number): number | undefined {
  if (year < 1 || week < 1 || week > weeksOfYear(year) || weekday < 1 || weekday > 7)
    return undefined;
  return firstMondayMs(year) + ((week - 1) * 7 + weekday - 1) * dayMs;
}

/** Monday of ISO week 1: the week that has January 4. */
function firstMondayMs(year: number): number {
  const fourth = utcMs(year, 1, 4);
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs;
}

function weeksOfYear(year: number): number {
  return Math.round((firstMondayMs(year + 1) - firstMondayMs(year)) / (7 * dayMs));
}

function daysOfMonth(year: number, month: number): number {
  return new Date(utcMs(year, month + 1, 1) - dayMs).getUTCDate();
}

/** `Date.UTC` takes years below 100 for those of 1900. */
function utcMs(year: number, month: number, day: number): number {
  const date = new Date(0);
  return date.setUTCFullYear(year, month - 1, day);
}

interface ClockTime {
  readonly ms: number;
  readonly nanoseconds: number;
}

/** Time of day with an optional zone, as milliseconds to add to the date's midnight in UTC. */
function parseTime(text: string): ClockTime | undefined {
  const zoneAt = text.search(/[-+Z]/);
  const time = parseClock(zoneAt < 0 ? text : text.slice(0, zoneAt));
  if (time === undefined || time.hours > 23 || time.minutes > 59 || time.seconds > 59)
    return undefined;
  const zone = zoneAt < 0 ? { ms: 0, nanoseconds: 0 } : parseZone(text.slice(zoneAt));
  if (zone === undefined) return undefined;
  const nanoseconds = time.nanoseconds - zone.nanoseconds;
  const carry = Math.floor(nanoseconds / 1e9);
  const ms = clockMs(time) - zone.ms + carry * 1000;
  return { ms, nanoseconds: nanoseconds - carry * 1e9 };
}

function parseZone(text: string): ClockTime | undefined {
  if (text === 'Z') return { ms: 0, nanoseconds: 0 };
  const offset = text[0] === 'Z' ? undefined : parseClock(text.slice(1));
  if (offset === undefined || offset.hours > 23 || offset.minutes > 59 || offset.seconds > 59)
    return undefined;
  const sign = text[0] === '-' ? -1 : 1;
  return { ms: sign * clockMs(offset), nanoseconds: sign * offset.nanoseconds };
}

interface Clock {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** A fraction behind hours or minutes is one of a second, as the existing clients' server reads it. */
const extended = /^(\d{2})(?::(\d{2})(?::(\d{2}))?)?(?:[.,](\d+))?$/;
const basic = /^(\d{2})(?:(\d{2})(?:(\d{2}))?)?(?:[.,](\d+))?$/;

function parseClock(text: string): Clock | undefined {
  const match = extended.exec(text) ?? basic.exec(text);
  if (match === null) return undefined;
  return {
    hours: Number(match[1]),
    minutes: Number(match[2] ?? 0),
    seconds: Number(match[3] ?? 0),
    nanoseconds: Number((match[4] ?? '').slice(0, 9).padEnd(9, '0')),
  };
}

/** Whole seconds only; the fraction is kept apart. */
function clockMs(clock: Clock): number {
  return ((clock.hours * 60 + clock.minutes) * 60 + clock.seconds) * 1000;
}
