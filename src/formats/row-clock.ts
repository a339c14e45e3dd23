import type { JsonValue } from '#base';
import { isTimestamp, parseTimestamp } from '#record';

/** Time of rows, in order: a row without one comes a microsecond after the row before it, so that no two fall on one instant. */
export interface RowClock {
  /** Of the last row that had a time of its own, in microseconds since 1970; undefined before the first. */
  lastUs: number | undefined;
  /** Rows without one since then. */
  untimed: number;
}

export function newRowClock(): RowClock {
  return { lastUs: undefined, untimed: 0 };
}

/** A time that may stand in an event; placeholders of redactors are none. */
export function timeIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && isTimestamp(value) ? value : undefined;
}

/** The row's own time, or the one that follows; undefined before any row had one. */
export function tick(clock: RowClock, own: string | undefined): string | undefined {
  const told = own === undefined ? undefined : parseTimestamp(own);
  if (told !== undefined) {
    clock.lastUs = told.epochMs * 1000 + Number(told.canonical.slice(23, 26));
    clock.untimed = 0;
    return own;
  }
  if (clock.lastUs === undefined) return undefined;
  clock.untimed += 1;
  return microsecondText(clock.lastUs + clock.untimed);
}

function microsecondText(us: number): string {
  const ms = Math.floor(us / 1000);
  const rest = String(us - ms * 1000).padStart(3, '0');
  return `${new Date(ms).toISOString().slice(0, -1)}${rest}Z`;
}
