const dayMs = 86_400_000;

/** Milliseconds since 1970 of the first moment of a day; undefined where there is no such day. Months, weeks and days count from 1. */
export function dayOf(year: number, month: number, day: number): number | undefined {
  const ms = begin(year, month - 1) + (day - 1) * dayMs;
  const date = new Date(ms);
  return date.getUTCMonth() + 1 === month && date.getUTCDate() === day ? ms : undefined;
}

export function ordinalDayOf(year: number, ordinal: number): number | undefined {
  const ms = begin(year, 0) + (ordinal - 1) * dayMs;
  return ordinal >= 1 && new Date(ms).getUTCFullYear() === year ? ms : undefined;
}

export function quarterDayOf(year: number, quarter: number, day: number): number | undefined {
  if (quarter < 1 || quarter > 4 || day < 1) return undefined;
  const ms = begin(year, (quarter - 1) * 3) + (day - 1) * dayMs;
  return ms < begin(year, quarter * 3) ? ms : undefined;
}

/** By ISO 8601: week 1 of a year is the one with its first Thursday, and begins on Monday. */
export function weekDayOf(year: number, week: number, day: number): number | undefined {
  if (week < 1 || day < 1 || day > 7) return undefined;
  const ms = firstMonday(year) + ((week - 1) * 7 + day - 1) * dayMs;
  return ms < firstMonday(year + 1) ? ms : undefined;
}

function firstMonday(year: number): number {
  const fourth = begin(year, 0) + 3 * dayMs;
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * dayMs;
}

function begin(year: number, month: number): number {
  return new Date(0).setUTCFullYear(year, month, 1);
}

const forms: readonly (readonly [
  form: RegExp,
  day: (year: number, a: number, b: number) => number | undefined,
])[] = [
  [/^(\d{4})-(\d\d)(?:-(\d\d))?$/, dayOf],
  [/^(\d{4})(\d\d)(\d\d)?$/, dayOf],
  [/^(\d{4})-?W(\d\d)(?:-?(\d))?$/, weekDayOf],
  [/^(\d{4})-?Q(\d)(?:-?(\d\d))?$/, quarterDayOf],
  [/^(\d{4})-?(\d{3})$/, ordinalDayOf],
  [/^(\d{4})$/, (year) => dayOf(year, 1, 1)],
];

/** A date as ISO 8601 writes it: by month, week, quarter or day of the year; what is left out is the first. */
export function parseDate(text: string): number | undefined {
  for (const [form, day] of forms) {
    const parts = form.exec(text);
    if (parts === null) continue;
    const [year = 0, a = 1, b = 1] = parts.slice(1).map((part) => Number(part ?? 1));
    return day(year, a, b);
  }
  return undefined;
}
