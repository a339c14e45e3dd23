/** The fewest of `items` that still fail, found by leaving out ever smaller runs; `fails` is asked at most `triesMax` times. */
export async function shorten<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  triesMax = 500,
): Promise<readonly T[]> {
  let shortest = items;
  let tries = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1; size = nextSize(size)) {
    for (let at = 0; at < shortest.length && tries < triesMax; tries += 1) {
      const less = [...shortest.slice(0, at), ...shortest.slice(at + size)];
      if (await fails(less)) shortest = less;
      else at += size;
    }
  }
  return shortest;
}

function nextSize(size: number): number {
  return size === 1 ? 0 : Math.ceil(size / 2);
}
