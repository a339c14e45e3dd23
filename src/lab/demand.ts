import { inspect, isDeepStrictEqual } from 'node:util';
import { promiseBroken } from './errors.ts';

/** Stops a run with PROMISE_BROKEN; `promise` says what must hold, `found` what was there instead. */
export function demand(
  holds: boolean,
  promise: string,
  found: unknown = 'it does not',
): asserts holds {
  if (!holds) throw promiseBroken({ promise, found: shown(found) });
}

/** The same for two values that must be equal in all of their members. */
export function demandEqual(found: unknown, expected: unknown, promise: string): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw promiseBroken({ promise, found: `${shown(found)} in place of ${shown(expected)}` });
}

function shown(value: unknown): string {
  return typeof value === 'string'
    ? value
    : inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 50 });
}
