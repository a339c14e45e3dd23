import { describe, expect, it } from 'vitest';
import {
  propertyDifference,
  readGolden,
  cutToMicroseconds,
  type GoldenEdge,
} from './golden-graph.ts';
import { goldenBodies, recordOf, withoutDuplicates } from './sample-events.ts';
import { storedGraph, type StoredGraph } from './stored-graph.ts';

/** Reference graph, its input, and how many of its nodes and edges are compared. */
const inputs: readonly (readonly [name: string, path: string, nodes: number, edges: number])[] = [
  ['danshapiro-freshell-kill9-orphan', 'amplifier/danshapiro-freshell-kill9-orphan.jsonl', 16, 23],
  ['danshapiro-freshell-normal-turn', 'amplifier/danshapiro-freshell-normal-turn.jsonl', 25, 34],
  [
    'danshapiro-freshell-steering-injection',
    'amplifier/danshapiro-freshell-steering-injection.jsonl',
    37,
    53,
  ],
  ['made-every-claimed-event', 'golden/made-every-claimed-event.ndjson', 120, 174],
  [
    'made-nested-delegation-two-parallel',
    'amplifier/made-nested-delegation-two-parallel.ndjson',
    41,
    58,
  ],
  [
    'made-post-events-bodies-normal-turn-with-retries',
    'amplifier/made-post-events-bodies-normal-turn-with-retries.ndjson',
    25,
    34,
  ],
  [
    'microsoft-amplifier-agent-c37652eb-events.part1of3',
    'amplifier/microsoft-amplifier-agent-c37652eb-events.part1of3.jsonl',
    27,
    43,
  ],
  [
    'microsoft-amplifier-bundle-context-intelligence-63cc3feb-ci',
    'amplifier/microsoft-amplifier-bundle-context-intelligence-63cc3feb-ci.jsonl',
    14,
    17,
  ],
];

const keyOf = ({ from, type, to }: GoldenEdge): string => `${from}\n${type}\n${to}`;

describe('graphs of the predecessor', () => {
  for (const [name, path, nodeCount, edgeCount] of inputs) {
    it(`are made of the same events, but for the meant differences: ${name}`, async () => {
      const records = withoutDuplicates(goldenBodies(path).map(recordOf));
      const ours = await storedGraph(records);
      const golden = readGolden(name, ours.nodes);
      const faults: string[] = [];
      for (const node of golden.nodes) {
        const mine = ours.nodes.get(node.id);
        if (mine === undefined) {
          faults.push(`node ${node.id} is missing`);
          continue;
        }
        if ([...mine.labels].sort().join() !== node.labels.join())
          faults.push(
            `${node.id}: labels ${[...mine.labels].sort().join()}, not ${node.labels.join()}`,
          );
        for (const property of Object.keys(node.properties)) {
          const difference = propertyDifference(node, property, mine.properties);
          if (difference !== '') faults.push(difference);
        }
      }
      const expectedNodes = new Set(golden.nodes.map(({ id }) => id));
      for (const [id, node] of ours.nodes) {
        if (!expectedNodes.has(id) && node.properties.get('unresolved') !== true)
          faults.push(`node ${id} is too many`);
      }
      for (const edge of golden.edges) {
        const mine = ours.edges.get(keyOf(edge));
        const same = Object.entries(edge.properties).every(
          ([property, value]) => cutToMicroseconds(mine?.get(property)) === value,
        );
        if (mine === undefined) faults.push(`edge ${keyOf(edge).replaceAll('\n', ' ')} is missing`);
        else if (!same)
          faults.push(`edge ${keyOf(edge).replaceAll('\n', ' ')} has other properties`);
      }
      const expectedEdges = new Set(golden.edges.map(keyOf));
      for (const key of ours.edges.keys()) {
        if (!expectedEdges.has(key) && !isMeantEdge(key, ours.nodes))
          faults.push(`edge ${key.replaceAll('\n', ' ')} is too many`);
      }
      expect(faults).toEqual([]);
      expect(ours.findings).toEqual([]);
      expect([golden.nodes.length, golden.edges.length]).toEqual([nodeCount, edgeCount]);
    });
  }
});

/** G2: every Event has its HAS_EVENT. ING-606: every block has one owner. ING-604: what knows no run hangs on the placeholder. */
function isMeantEdge(key: string, nodes: StoredGraph['nodes']): boolean {
  const [from = '', type, to = ''] = key.split('\n');
  if (type === 'HAS_EVENT') return true;
  // G3: to the Event that exists. G13: a resume is joined to its child.
  if (type === 'SOURCED_FROM' && nodes.get(to)?.labels.has('Event') === true) return true;
  if (type === 'ENCOMPASSES') return nodes.get(from)?.properties.has('resumed_at') === true;
  if (type === 'HAS_PART' && nodes.get(to)?.labels.has('ContentBlock') === true) return true;
  return [from, to].some((id) => nodes.get(id)?.properties.get('unresolved') === true);
}
