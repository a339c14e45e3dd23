import { keyOf, order } from './compare.ts';
import { Duration } from './duration.ts';
import { bounded, type Fail } from './operators.ts';
import { kindOf, type Value } from './values.ts';

/** Puts the values of one group together; nulls never come here. */
export interface Accumulator {
  add(value: Value, fail: Fail): void;
  result(): Value;
}

/** By the function's name; `percentile` of those that take one. */
export function accumulatorOf(name: string, percentile: number | undefined): Accumulator {
  switch (name) {
    case 'count':
      return counting();
    case 'sum':
      return summing();
    case 'avg':
      return averaging();
    case 'min':
      return choosing((a, b) => order(a, b) < 0);
    case 'max':
      return choosing((a, b) => order(a, b) > 0);
    case 'collect':
      return collecting();
    case 'stdev':
    case 'stdevp':
      return deviating(name === 'stdev');
    default:
      return ranking(percentile ?? 0, name === 'percentilecont');
  }
}

/** Lets each value through once. */
export function distinct(inner: Accumulator): Accumulator {
  const seen = new Set<string>();
  return {
    add(value, fail) {
      const key = keyOf(value);
      if (seen.has(key)) return;
      seen.add(key);
      inner.add(value, fail);
    },
    result: () => inner.result(),
  };
}

function counting(): Accumulator {
  let count = 0n;
  return {
    add() {
      count += 1n;
    },
    result: () => count,
  };
}

function summing(): Accumulator {
  let integers = 0n;
  let floats: number | undefined;
  let durations: Duration | undefined;
  let hasNumbers = false;
  return {
    add(value, fail) {
      if (value instanceof Duration) durations = durations?.plus(value) ?? value;
      else if (typeof value === 'bigint') integers = bounded(integers + value, fail);
      else floats = (floats ?? 0) + numberOf(value, fail);
      hasNumbers ||= !(value instanceof Duration);
      if (hasNumbers && durations !== undefined) fail('numbers and durations have no sum');
    },
    result: () => durations ?? (floats === undefined ? integers : floats + Number(integers)),
  };
}

function averaging(): Accumulator {
  const sum = summing();
  let count = 0;
  return {
    add(value, fail) {
      sum.add(typeof value === 'bigint' ? Number(value) : value, fail);
      count += 1;
    },
    result() {
      const whole = sum.result();
      if (count === 0) return null;
      return whole instanceof Duration ? whole.times(1 / count) : Number(whole) / count;
    },
  };
}

function choosing(isBetter: (a: Value, b: Value) => boolean): Accumulator {
  let best: Value = null;
  return {
    add(value) {
      if (best === null || isBetter(value, best)) best = value;
    },
    result: () => best,
  };
}

function collecting(): Accumulator {
  const list: Value[] = [];
  return {
    add(value) {
      list.push(value);
    },
    result: () => list,
  };
}

/** Of a sample or of the whole. */
function deviating(isSample: boolean): Accumulator {
  const numbers: number[] = [];
  return {
    add(value, fail) {
      numbers.push(numberOf(value, fail));
    },
    result() {
      const divisor = numbers.length - (isSample ? 1 : 0);
      if (divisor <= 0) return 0;
      const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
      return Math.sqrt(numbers.reduce((sum, one) => sum + (one - mean) ** 2, 0) / divisor);
    },
  };
}

function ranking(percentile: number, isInterpolated: boolean): Accumulator {
  const values: Value[] = [];
  return {
    add(value, fail) {
      numberOf(value, fail);
      values.push(value);
    },
    result() {
      if (values.length === 0) return null;
      const sorted = values.toSorted(order);
      if (!isInterpolated)
        return sorted[Math.max(0, Math.ceil(percentile * sorted.length) - 1)] ?? null;
      const at = percentile * (sorted.length - 1);
      const [low, high] = [Math.floor(at), Math.ceil(at)].map((place) => Number(sorted[place]));
      return (low ?? 0) + ((high ?? 0) - (low ?? 0)) * (at - Math.floor(at));
    },
  };
}

function numberOf(value: Value, fail: Fail): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  return fail(`a number is expected, and this is ${kindOf(value)}`);
}
