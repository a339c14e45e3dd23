import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { GraphStore, GroupPart, Mutation } from '#graph';
import { FencePermit } from '#fence';
import { testKey, testPermit } from '../../support/queue-fixtures.ts';
import { codeOf, edge, node, part, permit, readGraph, stub, type GraphCheck } from './harness.ts';

const good = (session: string): GroupPart =>
  part(session, [[node(session, session, ['Session'], { fine: true })]]);

const refused: readonly (readonly [string, readonly Mutation[]])[] = [
  ['more than 10,000 of one record', Array.from({ length: 10_001 }, () => stub('s', 's', ['A']))],
  ['a label outside the alphabet', [node('s', 's', ['Not-safe'])]],
  ['an empty label', [stub('s', 's', [''])]],
  ['a label that would end a statement', [node('s', 's', ['A` SET n.x = 1 //'])]],
  ['a type outside the alphabet', [edge('s', 'HAS PART', 's::1')]],
  ['a label of an end outside the alphabet', [unsafeEnd()]],
  ['the node of another session', [node('other', 'other', ['Session'])]],
];

function unsafeEnd(): Mutation {
  const drawn = edge('s', 'HAS_PART', 's::1');
  return { ...drawn, to: { ...drawn.to, labels: ['1st'] } };
}

async function expectNothing(store: GraphStore, group: readonly GroupPart[]): Promise<void> {
  deepStrictEqual(await readGraph(store), { nodes: [], edges: [] });
  const rows = await store.armKeys(
    permit,
    group.map(({ key }) => key),
  );
  deepStrictEqual([...rows.values()], Array(rows.size).fill(null));
}

/** What a store refuses, and that it leaves nothing of it (D28, ING-851). */
export const refusalChecks: readonly GraphCheck[] = [
  {
    name: 'refuses as poison what no store takes, and keeps nothing of its group (D28, ING-851)',
    async run(harness) {
      const store = await harness.open();
      for (const [what, mutations] of refused) {
        const group = [good('a'), part('s', [mutations]), good('b')];
        strictEqual(await codeOf(store.apply(permit, group)), 'MUTATION_REFUSED', what);
        await expectNothing(store, group);
      }
      await store.apply(permit, [good('a'), good('b')]);
      strictEqual((await store.digest()).nodes, 2);
    },
  },
  {
    name: 'takes exactly 10,000 mutations of one record (D28)',
    async run(harness) {
      const store = await harness.open();
      const many = Array.from({ length: 10_000 }, (_, at) => stub('s', `s::${at}`, ['Prompt']));
      await store.apply(permit, [part('s', [many])]);
      strictEqual((await store.digest()).nodes, 10_000);
    },
  },
  {
    name: 'takes no group after one that names another root in the middle (ING-851)',
    async run(harness) {
      const store = await harness.open();
      const row = { rootId: 'elsewhere', position: good('b').steps[0]?.after, sha256: 'x' };
      await store.adopt(permit, new Map([[testKey('b'), row as never]]));
      const group = [good('a'), good('b'), good('c')];
      strictEqual(await codeOf(store.apply(permit, group)), 'GRAPH_MISMATCH');
      deepStrictEqual(await readGraph(store), { nodes: [], edges: [] });
      strictEqual((await store.armKeys(permit, [testKey('a')])).get(testKey('a')), null);
    },
  },
  {
    name: 'does not change the group that it was handed (ING-851)',
    async run(harness) {
      const store = await harness.open();
      const group = deepFrozen([good('a'), part('s', [[edge('s', 'HAS_PART', 's::1')]])]);
      await store.apply(permit, group);
      strictEqual((await store.digest()).edges, 1);
    },
  },
  {
    name: 'shuts an older generation out from the moment that a newer one arms (P6, FEN-403)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(testPermit(3), [good('a')]);
      await store.armKeys(testPermit(4), []);
      const before = await store.digest();
      strictEqual(await codeOf(store.apply(testPermit(3), [good('b')])), 'FENCE_STALE');
      strictEqual(await codeOf(store.armKeys(testPermit(3), [])), 'FENCE_STALE');
      strictEqual(await codeOf(store.adopt(testPermit(3), new Map())), 'FENCE_STALE');
      deepStrictEqual(await store.digest(), before);
      const again = await harness.reopen();
      strictEqual(await codeOf(again.apply(testPermit(3), [good('b')])), 'FENCE_STALE');
      await again.apply(testPermit(4), [good('b')]);
    },
  },
  {
    name: 'raises its mark with a group of a higher generation that never armed (FEN-401)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(testPermit(3), [good('a')]);
      await store.apply(testPermit(5), [good('b')]);
      strictEqual(await codeOf(store.apply(testPermit(4), [good('c')])), 'FENCE_STALE');
    },
  },
  {
    name: 'does not raise its mark with a group that fails (ING-851)',
    async run(harness) {
      const store = await harness.open();
      const poison = part('s', [[node('other', 'other', ['Session'])]]);
      await store.apply(testPermit(3), [good('a')]);
      strictEqual(await codeOf(store.apply(testPermit(9), [poison])), 'MUTATION_REFUSED');
      await store.apply(testPermit(3), [good('b')]);
    },
  },
  {
    name: 'refuses an equal generation of another holder (FEN-401)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(testPermit(3), [good('a')]);
      const twin = FencePermit.issue('daemon:SR-test', 3, 'somebody else', () => true);
      strictEqual(await codeOf(store.apply(twin, [good('b')])), 'FENCE_STALE');
    },
  },
  {
    name: 'takes the domain of another root for foreign, not for stale, until it is adopted (FEN-402)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(testPermit(7), [good('a')]);
      const foreign = FencePermit.issue('daemon:SR-other', 1, 'holder', () => true);
      strictEqual(await codeOf(store.apply(foreign, [good('b')])), 'GRAPH_MISMATCH');
      strictEqual(await codeOf(store.armKeys(foreign, [])), 'GRAPH_MISMATCH');
      await store.adopt(foreign, new Map());
      await store.apply(foreign, [good('b')]);
      strictEqual(await codeOf(store.apply(testPermit(8), [good('c')])), 'GRAPH_MISMATCH');
    },
  },
  {
    name: 'writes nothing once its permit has ended (FEN-404)',
    async run(harness) {
      const store = await harness.open();
      let isLive = true;
      const ending = testPermit(1, () => isLive);
      await store.apply(ending, [good('a')]);
      isLive = false;
      strictEqual(await codeOf(store.apply(ending, [good('b')])), 'FENCE_LOST');
      strictEqual(await codeOf(store.armKeys(ending, [])), 'FENCE_LOST');
      const poison = part('s', [[node('other', 'other', ['Session'])]]);
      strictEqual(await codeOf(store.apply(ending, [poison])), 'FENCE_LOST');
      strictEqual((await store.digest()).nodes, 1);
    },
  },
];

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFrozen(member);
  }
  return value;
}
