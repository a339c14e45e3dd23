import { createHash } from 'node:crypto';
import type { Key } from '#record';
import { defineError, type ErrorFactory } from '#base';
import type { FenceMark } from './fence-mark.ts';
import type { GroupChanges } from './group-changes.ts';
import type { AppliedRow, GraphDigest } from './store.ts';

/** A copy whose graph is not the one that was copied. */
export const graphCopyFailed: ErrorFactory<{ reason: string }> = defineError(
  'GRAPH_COPY_FAILED',
  'reject',
  ({ reason }) => `the graph was not copied: ${reason}`,
);

export const copyPhases = ['nodes', 'edges', 'facts', 'rows'] as const;
export type CopyPhase = (typeof copyPhases)[number];

/** Part of a graph, as a group that makes it: nodes with who names them, edges, facts, or rows. */
export interface CopyPage {
  readonly changes: ReadonlyMap<string, GroupChanges>;
  readonly rows: ReadonlyMap<Key, AppliedRow>;
  /** Where the next page begins; a text that the source alone understands. */
  readonly next: string;
  readonly count: number;
}

export interface GraphIdentity {
  readonly graphId: string;
  readonly spillBytes: number;
}

/** A graph that nobody writes, to be read whole: with what queries and export do not show. */
export interface CopySourceGraph {
  identity(): Promise<GraphIdentity>;
  mark(): Promise<FenceMark | undefined>;
  /** Undefined behind the last one; the first begins after the empty text. */
  page(phase: CopyPhase, after: string): Promise<CopyPage | undefined>;
  digest(): Promise<GraphDigest>;
  close(): Promise<void>;
}

/** How far a copy has come. Kept in the target, in the transaction of the page. */
export interface CopyProgress {
  /** Tells whether the source is still what it was when the copy began. */
  readonly fingerprint: string;
  readonly phase: CopyPhase;
  readonly after: string;
}

/** Where a graph is copied to. It is no graph for anybody else before `finish`. */
export interface CopyTargetGraph {
  /** Undefined where no copy was begun. GRAPH_COPY_FAILED where there is a whole graph. */
  progress(): Promise<CopyProgress | undefined>;
  /** Empties it of a copy that was begun. */
  begin(progress: CopyProgress): Promise<void>;
  write(page: CopyPage, progress: CopyProgress): Promise<void>;
  digest(): Promise<GraphDigest>;
  finish(identity: GraphIdentity, mark: FenceMark | undefined): Promise<void>;
  close(): Promise<void>;
}

export interface CopyTold {
  readonly phase: CopyPhase | 'digest';
  /** Of this phase, since this run began. */
  readonly done: number;
}

/**
 * Copies a graph with its id, rows and hidden facts (ING-542, D26). It goes on where it was interrupted, unless something was applied to the source
 * meanwhile; then it begins anew. Ends with equal digests, or with GRAPH_COPY_FAILED and nothing that a daemon would take.
 */
export async function copyGraph(
  source: CopySourceGraph,
  target: CopyTargetGraph,
  tell: (told: CopyTold) => void,
): Promise<GraphDigest> {
  const identity = await source.identity();
  const fingerprint = await fingerprintOf(source, identity);
  let progress = await target.progress();
  if (progress?.fingerprint !== fingerprint) {
    progress = { fingerprint, phase: 'nodes', after: '' };
    await target.begin(progress);
  }
  for (const phase of copyPhases.slice(copyPhases.indexOf(progress.phase))) {
    let after = phase === progress.phase ? progress.after : '';
    let done = 0;
    for (;;) {
      const page = await source.page(phase, after);
      if (page === undefined) break;
      await target.write(page, { fingerprint, phase, after: page.next });
      after = page.next;
      done += page.count;
      tell({ phase, done });
    }
  }
  tell({ phase: 'digest', done: 0 });
  const [there, here] = [await source.digest(), await target.digest()];
  if (there.digest !== here.digest) {
    const reason = `its digest is ${here.digest} (${here.nodes} nodes, ${here.edges} edges), that of the source ${there.digest} (${there.nodes}, ${there.edges})`;
    throw graphCopyFailed({ reason });
  }
  await target.finish(identity, await source.mark());
  return here;
}

/** Nothing reaches a graph without a row that moves (ING-533). */
async function fingerprintOf(
  source: CopySourceGraph,
  { graphId, spillBytes }: GraphIdentity,
): Promise<string> {
  const hash = createHash('sha256').update(`${graphId} ${spillBytes}\n`);
  for (let after = ''; ;) {
    const page = await source.page('rows', after);
    if (page === undefined) return hash.digest('hex');
    for (const [key, { rootId, position, sha256 }] of page.rows)
      hash.update(`${key} ${rootId} ${position} ${sha256}\n`);
    after = page.next;
  }
}

export const nothingChanged: GroupChanges = {
  nodes: new Map(),
  edges: new Map(),
  factChanges: [],
  conceptSources: [],
};
