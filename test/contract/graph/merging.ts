import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { ConceptMutation, GroupPart, Mutation } from '#graph';
import {
  edge,
  node,
  part,
  permit,
  readEdges,
  readGraph,
  readNode,
  stub,
  time,
  type GraphCheck,
} from './harness.ts';

/** Both orders of two parts of different keys give this check one graph. */
function commuting(name: string, parts: readonly GroupPart[]): GraphCheck {
  return {
    name: `${name}, whichever key comes first (P12)`,
    async run(harness) {
      const store = await harness.open();
      for (const one of parts) await store.apply(permit, [one]);
      const expected = await readGraph(store);
      for (const one of parts) await store.adopt(permit, new Map([[one.key, null]]));
      for (const one of parts.toReversed()) await store.apply(permit, [one]);
      deepStrictEqual(await readGraph(store), expected);
    },
  };
}

function concept(kind: ConceptMutation['concept'], name: string, second: number): Mutation {
  return { kind: 'concept', concept: kind, name, occurredAt: time(second) };
}

/** What each mutation merges to (ING-615). */
export const mergeChecks: readonly GraphCheck[] = [
  {
    name: 'unites labels and patches properties of a node; what is left out stays',
    async run(harness) {
      const store = await harness.open();
      const records = [
        [node('s', 's', ['Session', 'A'], { kept: 1, changed: 'old' })],
        [node('s', 's', ['Session', 'B'], { changed: 'new', added: [1, 2] })],
      ];
      await store.apply(permit, [part('s', records)]);
      deepStrictEqual(await readNode(store, 's'), {
        workspace: 'w',
        id: 's',
        labels: ['A', 'B', 'Session'],
        properties: { added: [1, 2], changed: 'new', kept: 1 },
      });
    },
  },
  {
    name: 'drops labels and properties that no longer hold, before it adds',
    async run(harness) {
      const store = await harness.open();
      const drop = { labels: ['Old', 'Never'], properties: ['gone', 'never'] };
      await store.apply(permit, [
        part('s', [[node('s', 's', ['Session', 'Old'], { gone: 1, stays: 2 })]]),
        part('s', [[{ ...node('s', 's', ['New'], { more: 3 }), drop }]], { first: 2 }),
      ]);
      const found = await readNode(store, 's');
      deepStrictEqual(found?.labels, ['New', 'Session']);
      deepStrictEqual(found.properties, { more: 3, stays: 2 });
    },
  },
  {
    name: 'makes a stub that the owner completes, and adds nothing to what the owner wrote (ING-612)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('a', [[stub('b', 'b::1', ['Prompt'])]])]);
      deepStrictEqual((await readNode(store, 'b::1'))?.properties, {});
      await store.apply(permit, [
        part('b', [[node('b', 'b::1', ['Prompt', 'SST_EVENT'], { p: 1 })]]),
      ]);
      await store.apply(permit, [part('a', [[stub('b', 'b::1', ['Wrong'])]], { first: 2 })]);
      const found = await readNode(store, 'b::1');
      deepStrictEqual([found?.labels, found?.properties], [['Prompt', 'SST_EVENT'], { p: 1 }]);
    },
  },
  commuting('lets the owner decide the labels of what was a stub', [
    part('a', [[stub('b', 'b::1', ['Guess'])]]),
    part('b', [[node('b', 'b::1', ['Prompt'], { p: 1 })]]),
  ]),
  commuting('unites stubs', [
    part('a', [[stub('c', 'c::1', ['Guess'])]]),
    part('b', [[stub('c', 'c::1', ['Other'])]]),
  ]),
  {
    name: 'gives a concept its name and nothing else, one id space per kind (G10)',
    async run(harness) {
      const store = await harness.open();
      const kinds = ['Orchestrator', 'Recipe'] as const;
      await store.apply(permit, [part('a', [kinds.map((kind) => concept(kind, 'x', 5))])]);
      const { nodes } = await readGraph(store);
      deepStrictEqual(
        nodes.map(({ id, labels, properties }) => [id, labels, properties]),
        [
          ['orchestrator::x', ['Orchestrator', 'SST_CONCEPT'], { orchestrator: 'x' }],
          ['recipe::x', ['Recipe', 'SST_CONCEPT'], { name: 'x' }],
        ],
      );
    },
  },
  commuting('names a concept by its edge or by itself', [
    part('a', [[toConcept('a')]]),
    part('b', [[concept('Orchestrator', 'loop', 3), toConcept('b')]]),
  ]),
  {
    name: 'keeps one edge per pair and type, with its earliest time (ING-615)',
    async run(harness) {
      const store = await harness.open();
      const properties = { sst_semantic: 'CONTAINS' };
      const draw = (second: number): Mutation =>
        edge('s', 'HAS_PART', 's::1', { properties, occurredAt: time(second) });
      const other = edge('s', 'CAUSED', 's::1');
      await store.apply(permit, [part('s', [[draw(5), other]])]);
      await store.apply(permit, [part('s', [[draw(3), draw(4)], [draw(7)]], { first: 2 })]);
      const { edges } = await readGraph(store);
      deepStrictEqual(
        edges.map(({ type, properties: found }) => [type, found]),
        [
          ['CAUSED', {}],
          ['HAS_PART', { occurred_at: time(3), sst_semantic: 'CONTAINS' }],
        ],
      );
    },
  },
  commuting('takes the earliest time of an edge, and a time before none', [
    part('a', [[edge('b', 'NEXT', 'c', { occurredAt: time(4) })]]),
    part('b', [[edge('b', 'NEXT', 'c')]]),
    part('c', [[edge('b', 'NEXT', 'c', { occurredAt: time(2) })]]),
  ]),
  commuting('settles properties that should have been constant', [
    part('a', [[edge('b', 'NEXT', 'c', { properties: { x: 'ｚ' } })]]),
    part('b', [[edge('b', 'NEXT', 'c', { properties: { x: '😀' } })]]),
  ]),
  {
    name: 'makes the missing ends of an edge as stubs (ING-612)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('a', [[edge('a::1', 'NEXT', 'b::2')]])]);
      const { nodes } = await readGraph(store);
      deepStrictEqual(
        nodes.map(({ id, labels }) => [id, labels]),
        [
          ['a::1', ['Prompt']],
          ['b::2', ['Prompt']],
        ],
      );
    },
  },
  {
    name: 'moves an edge within one record, again and again (ING-607)',
    async run(harness) {
      const store = await harness.open();
      const remove = { kind: 'remove-edge', from: 's::old', type: 'NEXT', to: 's::1' } as const;
      const move: readonly Mutation[] = [edge('s::new', 'NEXT', 's::1'), remove];
      await store.apply(permit, [part('s', [[edge('s::old', 'NEXT', 's::1')], move])]);
      deepStrictEqual(await readEdges(store), ['s::new NEXT s::1']);
      await store.apply(permit, [part('s', [move], { first: 3 })]);
      deepStrictEqual(await readEdges(store), ['s::new NEXT s::1']);
      await store.apply(permit, [
        part('s', [[remove, edge('s::old', 'NEXT', 's::1')]], { first: 4 }),
      ]);
      deepStrictEqual(await readEdges(store), ['s::new NEXT s::1', 's::old NEXT s::1']);
    },
  },
  {
    name: 'takes no edge away from the nodes of another session (ING-615)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('s', [[edge('s::1', 'NEXT', 's::2')]])]);
      const remove = { kind: 'remove-edge', from: 's::1', type: 'NEXT', to: 's::2' } as const;
      await store.apply(permit, [part('t', [[remove]])]);
      deepStrictEqual(await readEdges(store), ['s::1 NEXT s::2']);
    },
  },
  {
    name: 'keeps equal ids of two workspaces apart',
    async run(harness) {
      const store = await harness.open();
      const records = (value: number): readonly Mutation[][] => [
        [node('s', 's', ['Session'], { value }), edge('s', 'NEXT', 's::1')],
      ];
      await store.apply(permit, [
        part('s', records(1), { workspace: 'one' }),
        part('s', records(2), { workspace: 'two' }),
      ]);
      const { nodes, edges } = await readGraph(store);
      strictEqual(nodes.length, 4);
      deepStrictEqual(
        edges.map(({ workspace }) => workspace),
        ['one', 'two'],
      );
      deepStrictEqual(
        nodes.filter(({ id }) => id === 's').map(({ properties }) => properties['value']),
        [1, 2],
      );
    },
  },
];

function toConcept(session: string): Mutation {
  return {
    ...edge(session, 'HAS_ATTRIBUTE', session),
    to: { id: 'orchestrator::loop', owner: null, labels: ['Orchestrator', 'SST_CONCEPT'] },
  };
}
