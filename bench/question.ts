/** One question, one file, one JSON line. Ratios are taken within one run, because machines are noisy; none of them is a gate. */
export interface BenchOptions {
  /** Short rounds that only prove that the bench runs. */
  readonly isSmoke: boolean;
  readonly rounds: number;
}

export interface BenchAnswer {
  readonly figures: Readonly<Record<string, number>>;
  /** Counters that hold on any machine: a false one fails the run. */
  readonly gates?: Readonly<Record<string, boolean>>;
}

export interface Question {
  readonly name: string;
  readonly asks: string;
  run(options: BenchOptions): Promise<BenchAnswer>;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Largest less smallest, as a part of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** Rounds in the order A-B-B-A, so that drift of the machine falls on both. */
export async function interleave<A, B>(
  rounds: number,
  a: (round: number) => Promise<A>,
  b: (round: number) => Promise<B>,
): Promise<{ readonly a: A[]; readonly b: B[] }> {
  const out: { a: A[]; b: B[] } = { a: [], b: [] };
  for (let round = 0; round < rounds; round++) {
    const steps = [async () => out.a.push(await a(round)), async () => out.b.push(await b(round))];
    if (round % 2 === 1) steps.reverse();
    for (const step of steps) await step();
  }
  return out;
}

/** Two decimals are what a noisy machine can tell. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
