/** The known name that a mistyped one most likely meant; undefined when none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = name.toLowerCase();
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(plain, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  const allowed = Math.max(2, Math.floor(name.length / 4));
  return best !== undefined && best.distance <= allowed ? best.candidate : undefined;
}

/** Levenshtein's distance, one row at a time; names are short. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
