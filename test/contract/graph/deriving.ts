import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { GraphStore, GroupPart, Mutation, SessionFact } from '#graph';
import {
  edge,
  fact,
  node,
  part,
  permit,
  readEdges,
  readGraph,
  readNode,
  time,
  type GraphCheck,
} from './harness.ts';

const starts = (parent: string | null, second = 1): SessionFact => ({
  type: 'started',
  parent,
  occurredAt: time(second),
});
const forks = (parent: string | null, second = 2): SessionFact => ({
  type: 'forked',
  parent,
  occurredAt: time(second),
  toldBy: 'child',
});
const forkedBy = (parent: string, agent: string, second = 2): SessionFact => ({
  type: 'forked',
  parent,
  occurredAt: time(second),
  toldBy: 'parent',
  agent,
});
const ends = (parent: string | null, second = 9): SessionFact => ({
  type: 'ended',
  parent,
  occurredAt: time(second),
});

interface Case {
  readonly name: string;
  /** What the session's own stream tells, in order. */
  readonly own?: readonly SessionFact[];
  /** What the streams of others tell: session → fact. */
  readonly others?: Readonly<Record<string, SessionFact>>;
  readonly labels: readonly string[];
  readonly parentId?: string;
  readonly edges?: readonly string[];
  readonly agent?: string;
}

const typed = ['SST_EVENT', 'Session'] as const;

/** The label table of the predecessor (4.6), as a function of the facts. */
const table: readonly Case[] = [
  { name: 'nothing but own events', own: [], labels: ['Session'] },
  { name: 'a start without parent', own: [starts(null)], labels: ['RootSession', ...typed] },
  {
    name: 'a start with a parent',
    own: [starts('p')],
    labels: [...typed, 'SubSession'],
    parentId: 'p',
    edges: ['p HAS_SUBSESSION s'],
  },
  {
    name: 'a start without, then one with a parent',
    own: [starts(null), starts('p', 2)],
    labels: [...typed, 'SubSession'],
    parentId: 'p',
    edges: ['p HAS_SUBSESSION s'],
  },
  {
    name: 'a fork',
    own: [forks('p')],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  { name: 'a fork without parent', own: [forks(null)], labels: ['ForkedSession', ...typed] },
  {
    name: 'a start, then a fork of one parent: one parent edge (PG-18)',
    own: [starts('p'), forks('p')],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  {
    name: 'a fork, then a start: forked for good (PG-15)',
    own: [forks('p', 1), starts('p', 2)],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  {
    name: 'a start and a fork that name different parents: the fork is right',
    own: [starts('q'), forks('p')],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  {
    name: 'a fork without parent beside a start with one',
    own: [starts('p'), forks(null)],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  {
    name: 'an end alone',
    own: [ends(null)],
    labels: ['IncompleteSession', ...typed],
  },
  {
    name: 'an end alone that names a parent (PG-05)',
    own: [ends('p')],
    labels: ['IncompleteSession', ...typed],
    parentId: 'p',
  },
  {
    name: 'an end, then a late start: whole again (PG-03)',
    own: [ends('p'), starts(null)],
    labels: ['RootSession', ...typed],
    parentId: 'p',
  },
  {
    name: 'an end, then a late fork (PG-03)',
    own: [ends(null), forks('p')],
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
  },
  {
    name: 'a fork that only the stream of the parent tells (PG-27)',
    others: { p: forkedBy('p', 'coder') },
    labels: ['ForkedSession', ...typed, 'StubSession'],
    parentId: 'p',
    edges: ['p FORKED s'],
    agent: 'coder',
  },
  {
    name: 'a start of its own and a fork told by the parent',
    own: [starts('p')],
    others: { p: forkedBy('p', 'coder') },
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
    agent: 'coder',
  },
  {
    name: 'forks told by two parents: the earlier',
    others: { p: forkedBy('p', 'late', 5), q: forkedBy('q', 'early', 4) },
    labels: ['ForkedSession', ...typed, 'StubSession'],
    parentId: 'q',
    edges: ['q FORKED s'],
    agent: 'early',
  },
  {
    name: 'an own word and a fork told by another: the own word',
    own: [forks('p', 8)],
    others: { q: forkedBy('q', 'coder', 4) },
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
    agent: 'coder',
  },
  {
    name: 'an end and a fork told by the parent: not incomplete',
    own: [ends(null)],
    others: { p: forkedBy('p', 'coder') },
    labels: ['ForkedSession', ...typed],
    parentId: 'p',
    edges: ['p FORKED s'],
    agent: 'coder',
  },
  {
    name: 'spawns by two streams: the agent of the earlier, no parent edge',
    others: {
      p: { type: 'spawned', parent: 'p', delegation: 'p::d', agent: 'late', occurredAt: time(5) },
      q: { type: 'spawned', parent: 'q', delegation: 'q::d', agent: 'early', occurredAt: time(3) },
    },
    labels: ['Session', 'StubSession'],
    edges: ['s HAS_AGENT agent::early'],
    agent: 'early',
  },
];

/** Each case in a workspace of its own. */
function partsOf({ name: workspace, own, others = {} }: Case): readonly GroupPart[] {
  const told = (own ?? []).map((one, at): readonly Mutation[] => [
    fact('s', `s__event__${at}`, one),
  ]);
  const first: readonly Mutation[] = [
    node('s', 's', ['Session'], { session_id: 's', status: 'running' }),
  ];
  return [
    ...(own === undefined ? [] : [part('s', [first, ...told], { workspace })]),
    ...Object.entries(others).map(([session, one]) =>
      part(session, [[fact('s', `${session}__event__0`, one)]], { workspace }),
    ),
  ];
}

async function expectCase(store: GraphStore, one: Case): Promise<void> {
  const graph = await readGraph(store);
  const isMeant = ({ workspace }: { readonly workspace: string }): boolean =>
    workspace === one.name;
  const found = graph.nodes.filter(isMeant).find(({ id }) => id === 's');
  const { parent_id, agent, session_id } = found?.properties ?? {};
  deepStrictEqual(
    { labels: found?.labels, parent_id, agent, session_id },
    {
      labels: one.labels.toSorted(),
      parent_id: one.parentId,
      agent: one.agent,
      session_id: 's',
    },
    one.name,
  );
  deepStrictEqual(
    graph.edges.filter(isMeant).map(({ from, type, to }) => `${from} ${type} ${to}`),
    one.edges ?? [],
    one.name,
  );
}

/** Values that no key knows alone (D25, ING-616). */
export const deriveChecks: readonly GraphCheck[] = [
  {
    name: 'derives labels, parent and agent of a session from its facts, whoever tells them first (P12)',
    async run(harness) {
      const store = await harness.open();
      for (const one of table) {
        const parts = partsOf(one);
        for (const group of parts.toReversed()) await store.apply(permit, [group]);
        await expectCase(store, one);
      }
      const { digest } = await store.digest();
      for (const parts of table.map(partsOf)) {
        await store.adopt(permit, new Map(parts.map(({ key }) => [key, null])));
        await store.apply(permit, parts);
      }
      strictEqual((await store.digest()).digest, digest);
    },
  },
  {
    name: 'makes the parent of a session as a stub session, which its own first event completes (PG-04)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('s', [[fact('s', 's__e', starts('p'))]])]);
      const before = await readNode(store, 'p');
      deepStrictEqual(before?.labels, ['Session', 'StubSession']);
      deepStrictEqual(before.properties, { session_id: 'p', status: 'running' });
      const own = node('p', 'p', ['Session'], { session_id: 'p', status: 'completed' });
      await store.apply(permit, [part('p', [[own]])]);
      const after = await readNode(store, 'p');
      deepStrictEqual(after?.labels, ['Session']);
      deepStrictEqual(after.properties, { session_id: 'p', status: 'completed' });
    },
  },
  {
    name: 'tells a session that only an edge names from a real one (PG-04)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('a', [[edge('a::1', 'ENCOMPASSES', 'child')]])]);
      const found = await readNode(store, 'child');
      deepStrictEqual(found?.labels, ['Session', 'StubSession']);
      deepStrictEqual(found.properties, { session_id: 'child', status: 'running' });
    },
  },
  {
    name: 'gives the parent edge the earliest time at which the parent was named',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('s', [[fact('s', 's__1', starts('p', 5))]])]);
      await store.apply(permit, [part('p', [[fact('s', 'p__1', forkedBy('p', 'a', 3))]])]);
      const { edges } = await readGraph(store);
      deepStrictEqual(edges, [
        {
          workspace: 'w',
          from: 'p',
          type: 'FORKED',
          to: 's',
          properties: { occurred_at: time(3), sst_semantic: 'LEADS_TO' },
        },
      ]);
    },
  },
  {
    name: 'takes back a derived value and its edge when the fact is told anew (ING-616)',
    async run(harness) {
      const store = await harness.open();
      const told = (one: SessionFact): readonly Mutation[] => [fact('s', 's__e', one)];
      await store.apply(permit, [part('s', [told(starts('p'))])]);
      await store.apply(permit, [part('s', [told(starts('q'))], { first: 2 })]);
      deepStrictEqual(await readEdges(store), ['q HAS_SUBSESSION s']);
      await store.apply(permit, [part('s', [told(starts(null))], { first: 3 })]);
      deepStrictEqual(await readEdges(store), []);
      const found = await readNode(store, 's');
      strictEqual(found?.properties['parent_id'], undefined);
      strictEqual(found?.labels.includes('RootSession'), true);
    },
  },
  {
    name: 'lets the word of the owner stand over a derived value',
    async run(harness) {
      const store = await harness.open();
      const own = node('s', 's', ['Session'], { agent: 'own' });
      await store.apply(permit, [
        part('p', [[fact('s', 'p__1', forkedBy('p', 'told'))]]),
        part('s', [[own]]),
      ]);
      strictEqual((await readNode(store, 's'))?.properties['agent'], 'own');
    },
  },
];
