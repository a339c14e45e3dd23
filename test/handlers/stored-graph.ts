import type { JsonValue } from '#base';
import { FencePermit } from '#fence';
import { checkGraph, type GraphFinding, type Step } from '#graph';
import { fold } from '#handlers';
import { emptyCursor, formatPosition, type Cursor, type Key, type LogRecord } from '#record';
import { openMemoryGraph } from '../support/memory-graph.ts';
import { deepFreeze } from './sample-events.ts';

/** What a store holds, read back from its canonical export. */
export interface StoredGraph {
  readonly nodes: ReadonlyMap<
    string,
    { readonly labels: ReadonlySet<string>; readonly properties: ReadonlyMap<string, JsonValue> }
  >;
  readonly edges: ReadonlyMap<string, ReadonlyMap<string, JsonValue>>;
  readonly digest: string;
  /** What the checker of ING-606 finds wrong. */
  readonly findings: readonly GraphFinding[];
}

interface ExportedLine {
  readonly node?: {
    readonly id: string;
    readonly labels: readonly string[];
    readonly properties: Readonly<Record<string, JsonValue>>;
  };
  readonly edge?: {
    readonly from: string;
    readonly type: string;
    readonly to: string;
    readonly properties: Readonly<Record<string, JsonValue>>;
  };
}

const permit: FencePermit = FencePermit.issue('daemon', 1, 'test', () => true);

interface FoldedKey {
  cursor: Cursor;
  count: number;
}

/**
 * Folds records, in this order across keys, into a graph store. `sizes` cuts them into groups; without it each record is a group of its own.
 * The cursor is stored and read between any two records.
 */
export async function storedGraph(
  records: readonly LogRecord[],
  sizes: readonly number[] = [1],
): Promise<StoredGraph> {
  const graph = openMemoryGraph();
  const keys = new Map<Key, FoldedKey>();
  for (let at = 0, turn = 0; at < records.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    const byKey = Map.groupBy(records.slice(at, at + size), ({ key }) => key);
    const group = [...byKey].map(([key, own]) => {
      const [{ workspace, session } = { workspace: '', session: '' }] = own;
      return {
        key,
        workspace,
        session,
        steps: own.map((record) => step(keys, record, graph.spillBytes)),
      };
    });
    await graph.apply(permit, group);
    at += size;
  }
  const lines: ExportedLine[] = [];
  for await (const chunk of graph.export()) {
    const text = Buffer.from(chunk).toString('utf8').trimEnd();
    for (const line of text.split('\n')) lines.push(JSON.parse(line) as ExportedLine);
  }
  const { digest } = await graph.digest();
  const findings = await checkGraph(graph);
  await graph.close();
  return { ...readLines(lines), digest, findings };
}

function step(keys: Map<Key, FoldedKey>, record: LogRecord, spillBytes: number): Step {
  const state = keys.get(record.key) ?? { cursor: emptyCursor(), count: 0 };
  const { cursor, mutations } = fold(deepFreeze(state.cursor), deepFreeze(record), { spillBytes });
  const at = positionOf(state.count);
  const next = { cursor: JSON.parse(JSON.stringify(cursor)) as Cursor, count: state.count + 1 };
  keys.set(record.key, next);
  return { at, after: positionOf(next.count), sha256: '0'.repeat(64), mutations, cursor };
}

function positionOf(count: number): ReturnType<typeof formatPosition> {
  return formatPosition({ ordinal: 0, offset: count, epoch: 'e' });
}

function readLines(lines: readonly ExportedLine[]): Omit<StoredGraph, 'digest' | 'findings'> {
  const nodes = lines.flatMap(({ node }) => (node === undefined ? [] : [node]));
  const edges = lines.flatMap(({ edge }) => (edge === undefined ? [] : [edge]));
  return {
    nodes: new Map(
      nodes.map(({ id, labels, properties }) => [
        id,
        { labels: new Set(labels), properties: new Map(Object.entries(properties)) },
      ]),
    ),
    edges: new Map(
      edges.map(({ from, type, to, properties }) => [
        [from, type, to].join('\n'),
        new Map(Object.entries(properties)),
      ]),
    ),
  };
}
