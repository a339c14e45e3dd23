import neo4j, { type DateTime } from 'neo4j-driver';
import type { PropertyValue } from '../mutation.ts';

/** A property as the driver takes it: whole numbers are integers, times are times. */
export type Native = string | number | bigint | boolean | DateTime<bigint> | readonly Native[];

const timeText = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{9})Z$/;
const int64Max = 2 ** 63;

/** Undefined where Neo4j has no form for it that comes back as it went. */
export function toNative(value: PropertyValue): Native | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  if (typeof value === 'number') return nativeNumber(value);
  if ('$time' in value) return toDateTime(value.$time);
  return nativeList(value);
}

function nativeNumber(value: number): number | bigint {
  return Number.isInteger(value) && Math.abs(value) < int64Max ? BigInt(value) : value;
}

/** A list of Neo4j holds values of one type. */
function nativeList(values: readonly (string | number | boolean)[]): Native | undefined {
  if (values.every((value) => typeof value === 'number')) {
    const whole = values.map(nativeNumber);
    return whole.every((value) => typeof value === 'bigint') ? whole : values;
  }
  if (values.every((value) => typeof value === 'boolean')) return values;
  const isText = values.every((value) => typeof value === 'string' && value.isWellFormed());
  return isText ? values : undefined;
}

/** Undefined for a text that is no time as D26 writes it. */
export function toDateTime(text: string): DateTime<bigint> | undefined {
  const match = timeText.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, nano = 0] = match
    .slice(1)
    .map(Number);
  const moment = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  moment.setUTCFullYear(year);
  if (moment.toISOString().slice(0, 19) !== text.slice(0, 19)) return undefined;
  const parts = [year, month, day, hour, minute, second, nano, 0].map(BigInt) as DateParts;
  return new neo4j.types.DateTime<bigint>(...parts);
}

type DateParts = [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];

/** A value that the driver gave for a property, as we keep it. */
export function fromNative(value: unknown): PropertyValue {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(fromNative) as readonly string[];
  if (neo4j.isDateTime(value as object)) return { $time: timeOf(value as DateTime<bigint>) };
  return value as PropertyValue;
}

/** RFC 3339 in UTC with nine fraction digits (D26). */
export function timeOf(time: DateTime<bigint>): string {
  const { year, month, day, hour, minute, second, nanosecond, timeZoneOffsetSeconds } = time;
  const moment = new Date(0);
  moment.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(
    Number(hour),
    Number(minute),
    Number(second) - Number(timeZoneOffsetSeconds ?? 0),
  );
  return `${moment.toISOString().slice(0, 19)}.${String(nanosecond).padStart(9, '0')}Z`;
}
