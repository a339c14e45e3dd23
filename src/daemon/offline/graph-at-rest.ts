import { isMillraceError, messageOf } from '#base';
import type { Disk } from '#disk';
import { compareRow } from '#drain';
import { keysBeingRemoved } from '#keeping';
import type { Key } from '#record';
import type { RootLayout } from '#roots';
import {
  openGraphRows,
  readQueueBond,
  type BondedLog,
  type GraphWord,
  type VerifyFinding,
} from '../assemble.ts';
import { metGraphPath } from '../neo4j-settings.ts';

export interface GraphAtRest {
  /** Undefined where there is nothing to compare with. */
  readonly ask: ((log: BondedLog) => GraphWord) | undefined;
  close(): void;
}

export interface GraphAtRestOptions {
  readonly disk: Disk;
  readonly layout: RootLayout;
  readonly rootId: string;
  /** Of the graph as a whole. */
  readonly onFinding: (finding: VerifyFinding) => void;
}

type Telling = (
  code: 'graph_missing' | 'graph_other' | 'graph_damaged' | 'graph_uncompared',
  message: string,
) => void;

const nothing: GraphAtRest = { ask: undefined, close: () => undefined };

/** What the embedded graph of a root that nobody serves has of its sessions, to be compared with their files (ING-540, ING-541). */
export async function openGraphAtRest(options: GraphAtRestOptions): Promise<GraphAtRest> {
  const { disk, layout, rootId, onFinding } = options;
  const tell: Telling = (code, message) =>
    onFinding({
      code,
      level: code === 'graph_uncompared' ? 'note' : 'finding',
      path: '../graph/graph.db',
      message,
    });
  const bond = await readQueueBond(disk, layout.queue, rootId);
  if (bond === undefined || bond.graphId === null) return nothing;
  if (bond.restoredFrom !== null) {
    tell('graph_uncompared', 'the root was restored: its next start adopts the graph');
    return nothing;
  }
  if ((await disk.stat(metGraphPath(layout))) !== undefined) {
    tell('graph_uncompared', 'the graph is that of a server: a start compares it');
    return nothing;
  }
  if ((await disk.stat(layout.graphDatabase)) === undefined) {
    tell('graph_missing', `the queue was drained into the graph ${bond.graphId}, which is gone`);
    return nothing;
  }
  const removed = await removedKeys(disk, layout);
  return openRows(layout.graphDatabase, { graphId: bond.graphId, rootId, removed }, tell);
}

/** A control database that is gone or damaged is for its own part to tell. */
async function removedKeys(disk: Disk, { controlDatabase }: RootLayout): Promise<ReadonlySet<Key>> {
  if ((await disk.stat(controlDatabase)) === undefined) return new Set();
  try {
    return keysBeingRemoved(controlDatabase);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return new Set();
  }
}

interface Bonded {
  readonly graphId: string;
  readonly rootId: string;
  readonly removed: ReadonlySet<Key>;
}

function openRows(path: string, bonded: Bonded, tell: Telling): GraphAtRest {
  /** What is damaged is told once; then nothing more is asked of it. */
  let isReadable = true;
  const telling = <T>(look: () => T): T | undefined => {
    try {
      return look();
    } catch (error) {
      isReadable = false;
      const isDamage = isMillraceError(error) && error.disposition === 'corrupt';
      tell(isDamage ? 'graph_damaged' : 'graph_uncompared', messageOf(error));
      return undefined;
    }
  };
  const rows = telling(() => openGraphRows(path));
  if (rows === undefined) return nothing;
  if (rows.graphId !== bonded.graphId) {
    tell(
      'graph_other',
      `it is the graph ${rows.graphId}; the queue was drained into ${bonded.graphId}`,
    );
    rows.close();
    return nothing;
  }
  return {
    ask(log) {
      if (!isReadable || bonded.removed.has(log.key)) return undefined;
      const row = telling(() => rows.row(log.key));
      return row === undefined ? undefined : wordOf(compareRow(row, { ...log, ...bonded }));
    },
    close: () => rows.close(),
  };
}

function wordOf(verdict: ReturnType<typeof compareRow>): GraphWord {
  switch (verdict.kind) {
    case 'match':
      return undefined;
    case 'mismatch':
      return { kind: 'wrong', message: verdict.reason };
    case 'prove':
      return verdict;
  }
}
