import { beforeAll, describe, expect, it } from 'vitest';
import { readText } from '../tidy/source-tree.ts';
import { goldenBodies, recordOf, withoutDuplicates } from './sample-events.ts';
import { storedGraph, type StoredGraph } from './stored-graph.ts';

const samples = [
  'golden/made-every-claimed-event.ndjson',
  'amplifier/made-nested-delegation-two-parallel.ndjson',
  'amplifier/danshapiro-freshell-steering-injection.jsonl',
];
/** Every node has these, or they are no more than a name of a kind of session. */
const general = new Set(['node_id', 'workspace']);

const doc = readText('docs/graph.md');
const section = doc.slice(doc.indexOf('## What a node says'), doc.indexOf('## How it comes about'));
/** Rows of both tables: what the first cell names, and the words of the second. */
const rows = [...section.matchAll(/^\| (`[^|]+) \| ([^\n]+) \|$/gm)].map(([, first, second]) => ({
  names: new Set([...(first ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name)),
  words: new Set([...(second ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name)),
}));

let graphs: readonly StoredGraph[];

beforeAll(async () => {
  graphs = await Promise.all(
    samples.map((path) => storedGraph(withoutDuplicates(goldenBodies(path).map(recordOf)))),
  );
});

describe('docs/graph.md, for those who write queries', () => {
  it('names every property that a node of each label may have', () => {
    const missing = new Set<string>();
    for (const { labels, properties } of graphs.flatMap(({ nodes }) => [...nodes.values()])) {
      if (labels.has('Event')) continue;
      const row = rows.find(({ names }) => [...labels].some((label) => names.has(label)));
      for (const name of properties.keys())
        if (!general.has(name) && row?.words.has(name) !== true)
          missing.add(`${[...labels].join(':')} ${name}`);
    }
    expect([...missing]).toEqual([]);
  });

  it('names every type of edge', () => {
    const types = new Set(
      graphs.flatMap(({ edges }) => [...edges.keys()].map((key) => key.split('\n')[1])),
    );
    expect(types.size).toBeGreaterThan(15);
    const named = rows.flatMap(({ names }) => [...names]);
    expect([...types].filter((type) => !named.includes(type))).toEqual([]);
  });
});
