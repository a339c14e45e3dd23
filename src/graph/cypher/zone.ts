const fixed = /^([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?$/;

/**
 * Milliseconds that a zone's clocks are ahead of UTC where they show a local time, itself in milliseconds since 1970 as if it were UTC. A zone is `Z`,
 * an offset such as `+02:00`, or a name such as `Europe/Berlin`; undefined for what is none.
 */
export function zoneOffset(zone: string, localMs: number): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0;
  const parts = fixed.exec(zone);
  if (parts !== null) {
    const [, sign, hours, minutes = '0', seconds = '0'] = parts;
    const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return (sign === '-' ? -1000 : 1000) * total;
  }
  const clock = clockOf(zone);
  if (clock === undefined) return undefined;
  // The offset is that of the moment, which is known by the offset: one look beside it is enough but in the hour of a change.
  return offsetAt(clock, localMs - offsetAt(clock, localMs));
}

/** Names that were asked for: there are some hundreds. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat | undefined {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  try {
    const clock = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    clocks.set(zone, clock);
    return clock;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function offsetAt(clock: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(clock.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const [year, month, day, hour, minute, second] = [
    'year',
    'month',
    'day',
    'hour',
    'minute',
    'second',
  ].map((name) => parts.get(name as Intl.DateTimeFormatPartTypes) ?? 0);
  const shown = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
  return shown - Math.floor(ms / 1000) * 1000;
}
