import type { Clock } from '#base';
import { cursorFold, type Drain } from '#drain';
import type { FencePermit } from '#fence';
import type { GraphStore } from '#graph';
import type { KeyRepair } from '#ops';
import {
  resetRefused,
  type AppliedMark,
  type ClearMode,
  type LogRepair,
  type ResetOrder,
  type ResetReport,
} from '#queue';
import type { Key } from '#record';

export interface KeyRepairNeeds {
  readonly logs: LogRepair;
  readonly graph: Pick<GraphStore, 'adopt' | 'armKeys' | 'spillBytes'>;
  readonly permit: FencePermit;
  readonly rootId: string;
  readonly drain: Pick<Drain, 'pause' | 'resume'>;
  readonly clock: Clock;
}

/** A batch is folded and applied within this; a graph that is away takes no replay. */
const borderMsMax = 30_000;
/** Ways out that pass what the graph may hold already: queue and graph must go on knowing each other by it (ING-541). */
const passing: ReadonlySet<ClearMode> = new Set(['skip-to-end', 'pass-over']);

/** Joins what mends a key's log with what the log's backend does not know: how records fold, what the graph holds, and whom to wake. */
export function createKeyRepair(needs: KeyRepairNeeds): KeyRepair {
  const { logs, graph, drain } = needs;
  const fold = cursorFold(graph.spillBytes);
  return {
    show: (key) => logs.showQuarantine(key),
    classify: (key) => logs.classify(key),
    reconcile: (key) => logs.reconcileDead(key),
    async clear(key, order) {
      const graphRow = passing.has(order.mode) ? await rowOf(needs, key) : null;
      const report = await logs.clearQuarantine(key, order, { fold, graphRow });
      drain.resume(key);
      return report;
    },
    async reset(key, order) {
      const report = await replay(needs, key, order);
      drain.resume(key);
      return report;
    },
    countLetters: (key) => logs.countLetters(key),
    writeOff: (key) => logs.writeOffLetters(key),
    resume: (key) => drain.resume(key),
  };
}

/**
 * Queue first, then the graph's row, while no transaction runs: what is folded again must not be left out as known (ING-539). Cut off between the two,
 * the graph is merely ahead of the log, and the same is done again.
 */
async function replay(
  { logs, graph, permit, rootId, drain, clock }: KeyRepairNeeds,
  key: Key,
  order: ResetOrder,
): Promise<ResetReport> {
  const late = new AbortController();
  const timer = clock.after(borderMsMax, () =>
    late.abort(resetRefused({ key, reason: 'the drain came to no border' })),
  );
  try {
    const letGo = await drain.pause(late.signal);
    try {
      const report = await logs.resetOffset(key, order);
      const { applied } = report;
      await graph.adopt(permit, new Map([[key, applied && { ...applied, rootId }]]));
      return report;
    } finally {
      letGo();
    }
  } finally {
    timer.cancel();
  }
}

async function rowOf(
  { graph, permit, rootId }: KeyRepairNeeds,
  key: Key,
): Promise<AppliedMark | null> {
  const row = (await graph.armKeys(permit, [key])).get(key) ?? null;
  if (row === null || row.rootId !== rootId) return null;
  return { position: row.position, sha256: row.sha256 };
}
