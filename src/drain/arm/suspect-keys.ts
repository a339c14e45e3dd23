import { createPace, type Clock } from '#base';
import type { GraphStore } from '#graph';
import type { GraphBond } from '#queue';
import type { Key } from '#record';
import { compareRow } from './compare-row.ts';

export interface SuspectDependencies {
  readonly bond: Pick<GraphBond, 'checkpointedKeys' | 'restoredFrom'>;
  readonly graph: Pick<GraphStore, 'rows'>;
  readonly rootId: string;
  readonly clock: Clock;
}

const pageKeys = 256;
/** Per page: the first 2048 keys soon, the rest of a root with very many in a few thousandths of a core (ING-808). */
const pace = { share: 0.003, quickSteps: 8, restMsMin: 20, stepsAtOnce: 1 } as const;

/**
 * Compares what the last checkpoints relied on with the graph's rows, over all keys, and yields those that do not agree (ING-541): a session at rest has
 * no worker that would notice that its graph is another or an older one. Only a hint, since drains go on: a worker that arms has the last word.
 */
export async function* suspectKeys(
  { bond, graph, rootId, clock }: SuspectDependencies,
  signal: AbortSignal,
): AsyncGenerator<Key> {
  const { step } = createPace({ ...pace, clock });
  let after: Key | undefined;
  for (;;) {
    signal.throwIfAborted();
    const page = bond.checkpointedKeys({ after, limit: pageKeys });
    if (page.length === 0) return;
    const rows = await graph.rows({ keys: page.map(({ key }) => key) });
    for (const { key, applied: mark } of page) {
      const row = rows.get(key) ?? null;
      // Whatever the log holds beyond the mark, the graph may have: its end does not matter here.
      const end = row?.position ?? mark?.position;
      if (end === undefined) continue;
      const isSame = row !== null && row.position === mark?.position && row.sha256 === mark.sha256;
      const verdict = compareRow(row, { rootId, mark, end });
      if (!isSame && verdict.kind !== 'match') yield key;
    }
    after = page.at(-1)?.key;
    await step(signal);
  }
}
