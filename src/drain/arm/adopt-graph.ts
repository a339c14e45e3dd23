import { failpoint } from '#disk';
import type { FencePermit } from '#fence';
import type { AppliedRow, GraphStore } from '#graph';
import type { BondedKey, GraphBond, QueueLedger } from '#queue';
import type { Key, Position } from '#record';
import { judgeRow } from './arm-worker.ts';
import type { Drain } from '../drain.ts';
import { adoptRefused } from '../errors.ts';
import { asOurs, planAdopt, planRemoval, type AdoptCause, type AdoptChange } from './plan-adopt.ts';

export interface AdoptDependencies {
  readonly bond: GraphBond;
  readonly ledger: QueueLedger;
  readonly graph: GraphStore;
  readonly permit: FencePermit;
  readonly rootId: string;
  readonly drain: Pick<Drain, 'pause' | 'adopted'>;
  /** Keys of one graph transaction. */
  readonly pageKeys?: number;
}

export interface AdoptOrder {
  /** This key alone; every key without it. */
  readonly key?: Key | undefined;
  /** Only says what would be done. */
  readonly isDryRun: boolean;
  /** Ends the wait for transactions that run, and the work at a border between two pages. */
  readonly signal: AbortSignal;
}

export interface AdoptReport {
  /** Keys that were looked at. */
  readonly keys: number;
  readonly changed: Readonly<Record<AdoptCause, number>>;
  /** The first changes, to be shown. */
  readonly changes: readonly AdoptChange[];
  /** Event ids that were forgotten; 0 in a dry run. */
  readonly idsForgotten: number;
  /** The graph that the root belonged to, and the one that it belongs to afterwards. */
  readonly graphBefore: string | null;
  readonly graphId: string;
}

const pageKeysDefault = 256;
const changesShown = 50;

/**
 * Makes queue and graph know each other again (ING-542): rows first, the ids of a key before its row, `format.json` last. So an interrupted run
 * is simply run again: what it has set is found to match, and what is not set stays stopped (C40). No transaction runs meanwhile.
 * Errors: ADOPT_REFUSED (`reject`), what graph and queue reject with, the signal's reason.
 */
export async function adoptGraph(
  dependencies: AdoptDependencies,
  order: AdoptOrder,
): Promise<AdoptReport> {
  const { drain, bond, graph } = dependencies;
  const isOtherGraph = bond.graphId !== null && bond.graphId !== graph.graphId;
  if (order.key !== undefined && isOtherGraph)
    throw adoptRefused({
      reason: `this is the graph ${graph.graphId}, the root belongs to ${bond.graphId ?? 'none'}: adopt all keys, or none`,
    });
  const letGo = await drain.pause(order.signal);
  try {
    const run = new AdoptRun(dependencies, order);
    if (order.key === undefined) await run.all();
    else await run.one(order.key);
    return run.report();
  } finally {
    letGo();
  }
}

class AdoptRun {
  readonly #deps: AdoptDependencies;
  readonly #order: AdoptOrder;
  readonly #graphBefore: string | null;
  readonly #changed: Record<AdoptCause, number> = {
    missing: 0,
    behind: 0,
    ahead: 0,
    foreign: 0,
    unknown: 0,
  };
  readonly #changes: AdoptChange[] = [];
  #keys = 0;
  #idsForgotten = 0;

  constructor(dependencies: AdoptDependencies, order: AdoptOrder) {
    this.#deps = dependencies;
    this.#order = order;
    this.#graphBefore = dependencies.bond.graphId;
  }

  report(): AdoptReport {
    return {
      keys: this.#keys,
      changed: { ...this.#changed },
      changes: this.#changes,
      idsForgotten: this.#idsForgotten,
      graphBefore: this.#graphBefore,
      graphId: this.#deps.graph.graphId,
    };
  }

  async one(key: Key): Promise<void> {
    const bonded = await this.#deps.bond.bondedKey(key);
    if (bonded === undefined)
      throw adoptRefused({ reason: `the queue does not know the key ${key}` });
    const changed = await this.#adopt([bonded]);
    if (!this.#order.isDryRun) this.#deps.drain.adopted(changed);
  }

  async all(): Promise<void> {
    const { bond, graph, drain, pageKeys: limit = pageKeysDefault } = this.#deps;
    let after: Key | undefined;
    for (;;) {
      this.#order.signal.throwIfAborted();
      const page = await bond.bondedKeys({ after, limit });
      if (page.length === 0) break;
      await this.#adopt(page);
      after = page.at(-1)?.key;
    }
    await this.#removeUnknown();
    if (this.#order.isDryRun) return;
    await failpoint('adopt:before-format');
    if (bond.graphId !== graph.graphId || bond.restoredFrom !== null)
      await bond.bindGraph(graph.graphId);
    drain.adopted('all');
  }

  /** The keys that were changed. */
  async #adopt(page: readonly BondedKey[]): Promise<readonly Key[]> {
    const { graph } = this.#deps;
    this.#keys += page.length;
    // Read without arming: a graph that is guarded for another root shows its rows to nobody who would arm.
    const rows = await graph.rows({ keys: page.map(({ key }) => key) });
    const changes: AdoptChange[] = [];
    for (const bonded of page) {
      const change = await this.#plan(bonded, rows.get(bonded.key) ?? null);
      if (change !== undefined) changes.push(change);
    }
    await this.#carryOut(changes);
    return changes.map(({ key }) => key);
  }

  async #plan(bonded: BondedKey, row: AppliedRow | null): Promise<AdoptChange | undefined> {
    const { bond, ledger, rootId } = this.#deps;
    const judged = asOurs(row, rootId, bond.restoredFrom?.rootId);
    const status = await ledger.keyStatus(bonded.key);
    const mark = bonded.applied;
    // A finalised key has no log: nothing can be proven beyond what its row keeps.
    const end = status?.end ?? mark?.position ?? ('' as Position);
    const verdict = await judgeRow({ ledger, rootId }, bonded.key, judged, { mark, end });
    return planAdopt(row, judged, bonded, verdict, rootId);
  }

  /** Rows of ours that no key of the queue has. */
  async #removeUnknown(): Promise<void> {
    const { bond, graph, rootId } = this.#deps;
    const own = [rootId, ...(bond.restoredFrom === null ? [] : [bond.restoredFrom.rootId])];
    let after: Key | undefined;
    for (;;) {
      this.#order.signal.throwIfAborted();
      const page = await graph.rows({ after, limit: pageKeysDefault });
      if (page.size === 0) return;
      const changes: AdoptChange[] = [];
      for (const [key, row] of page) {
        after = key;
        const change = planRemoval(key, row, own);
        if (change !== undefined && (await bond.bondedKey(key)) === undefined) changes.push(change);
      }
      await this.#carryOut(changes);
    }
  }

  async #carryOut(changes: readonly AdoptChange[]): Promise<void> {
    for (const change of changes) {
      this.#changed[change.cause] += 1;
      if (this.#changes.length < changesShown) this.#changes.push(change);
    }
    if (this.#order.isDryRun || changes.length === 0) return;
    const { bond, graph, permit } = this.#deps;
    const forgetting = changes.filter(({ forgets }) => forgets).map(({ key }) => key);
    if (forgetting.length > 0) this.#idsForgotten += await bond.forgetApplied(forgetting);
    await failpoint('adopt:ids-forgotten');
    await graph.adopt(permit, new Map(changes.map(({ key, to }) => [key, to])));
    await failpoint('adopt:rows-set');
  }
}
