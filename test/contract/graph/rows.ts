import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert/strict';
import { packSteps, type GroupPart } from '#graph';
import { positionAt, stepAt } from '../../support/graph-fixtures.ts';
import { testKey, testPermit } from '../../support/queue-fixtures.ts';
import {
  codeOf,
  edge,
  fact,
  node,
  part,
  permit,
  readNode,
  time,
  type GraphCheck,
} from './harness.ts';

const key = testKey('s');
const log = (count: number, first = 1): GroupPart =>
  part(
    's',
    Array.from({ length: count }, (_, at) => [
      node('s', 's', ['Session'], { last: first + at, [`p${first + at}`]: true }),
      edge('s', 'HAS_PART', `s::${first + at}`),
    ]),
    { first },
  );

/** Applied positions: the key's row and what it proves (ING-533, 534, 539 to 542). */
export const rowChecks: readonly GraphCheck[] = [
  {
    name: 'keeps mutations and row together, over a new opening (P3, ING-533)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(3)]);
      const before = await store.digest();
      const again = await harness.reopen();
      deepStrictEqual(await again.digest(), before);
      const rows = await again.armKeys(permit, [key]);
      deepStrictEqual(rows.get(key), {
        rootId: 'root',
        position: positionAt(3),
        sha256: stepAt(3, []).sha256,
      });
    },
  },
  {
    name: 'takes the steps of a part as text as it takes them as values, and leaves out the same of them (P12, ING-539)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(2)]);
      const before = await store.digest();
      const { steps, ...named } = log(4);
      await store.apply(permit, [{ ...named, packed: packSteps(steps.slice(0, 2)) }]);
      deepStrictEqual(await store.digest(), before);
      const other = part('other', [[node('other', 'other', ['Session'], { text: 'ü\u2028"' })]]);
      await store.apply(permit, [{ ...named, packed: packSteps(steps) }, other]);
      strictEqual((await readNode(store, 's'))?.properties['last'], 4);
      strictEqual((await readNode(store, 'other'))?.properties['text'], 'ü\u2028"');
      const rows = await store.armKeys(permit, [key]);
      strictEqual(rows.get(key)?.position, positionAt(4));
    },
  },
  {
    name: 'answers null for a key that it never met, and nothing for keys that were not asked for',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(1)]);
      const rows = await store.armKeys(permit, [testKey('other')]);
      deepStrictEqual([...rows], [[testKey('other'), null]]);
    },
  },
  {
    name: 'leaves out records at or below the row, however they are cut (P5, ING-539)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(3)]);
      const before = await store.digest();
      await store.apply(permit, [log(3)]);
      await store.apply(permit, [log(1), log(1, 2)]);
      deepStrictEqual(await store.digest(), before);
      deepStrictEqual((await readNode(store, 's'))?.properties['last'], 3);
      await store.apply(permit, [log(4)]);
      strictEqual((await readNode(store, 's'))?.properties['last'], 4);
    },
  },
  {
    name: 'never lets an applied position fall (ING-534)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(5)]);
      await store.apply(permit, [log(2)]);
      const rows = await store.armKeys(permit, [key]);
      strictEqual(rows.get(key)?.position, positionAt(5));
    },
  },
  {
    name: 'takes the parts of one key in one group one after another',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(2), log(2, 3), log(4)]);
      strictEqual((await readNode(store, 's'))?.properties['last'], 4);
      strictEqual((await store.armKeys(permit, [key])).get(key)?.position, positionAt(4));
    },
  },
  {
    name: 'gives the same graph when rows are set back and all is applied again (P5, ING-542)',
    async run(harness) {
      const store = await harness.open();
      const told = part('s', [[fact('s', 's__e', started)], ...recordsOf(log(4))]);
      await store.apply(permit, [told]);
      const before = await store.digest();
      await store.adopt(permit, new Map([[key, null]]));
      strictEqual((await store.armKeys(permit, [key])).get(key), null);
      await store.apply(permit, [{ ...told, steps: told.steps.slice(0, 2) }]);
      await store.apply(permit, [told]);
      deepStrictEqual(await store.digest(), before);
    },
  },
  {
    name: 'sets rows as adopt orders, forwards and backwards (ING-542)',
    async run(harness) {
      const store = await harness.open();
      const row = { rootId: 'root', position: positionAt(9), sha256: 'ff'.repeat(32) };
      await store.adopt(permit, new Map([[key, row]]));
      deepStrictEqual((await store.armKeys(permit, [key])).get(key), row);
      await store.adopt(permit, new Map([[key, { ...row, position: positionAt(2) }]]));
      strictEqual((await store.armKeys(permit, [key])).get(key)?.position, positionAt(2));
    },
  },
  {
    name: 'lists rows in key order, page by page, those of another root too (ING-542)',
    async run(harness) {
      const store = await harness.open();
      const keys = ['c', 'a', 'e', 'b', 'd'].map((name) => testKey(name));
      const rowAt = (at: number) => ({
        rootId: at === 2 ? 'another' : 'root',
        position: positionAt(at),
        sha256: 'ab'.repeat(32),
      });
      deepStrictEqual([...(await store.rows({ after: undefined, limit: 10 }))], []);
      await store.adopt(permit, new Map(keys.map((key, at) => [key, rowAt(at)])));
      const found: unknown[] = [];
      let after: (typeof keys)[number] | undefined;
      for (let pages = 0; pages < 5; pages += 1) {
        const page = [...(await store.rows({ after, limit: 2 }))];
        if (page.length === 0) break;
        strictEqual(page.length <= 2, true);
        found.push(...page);
        after = page.at(-1)?.[0];
      }
      const asked = [testKey('e'), testKey('never'), testKey('a')];
      deepStrictEqual([...(await store.rows({ keys: asked })).keys()].toSorted(), [
        testKey('a'),
        testKey('e'),
      ]);
      const expected = keys.map((one, at) => ({ key: one, row: rowAt(at) }));
      expected.sort((a, b) => (a.key < b.key ? -1 : 1));
      deepStrictEqual(
        found,
        expected.map(({ key: one, row }) => [one, row]),
      );
    },
  },
  {
    name: 'changes rows alone when it adopts, and lets no lower generation in afterwards (ING-542)',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [log(3)]);
      const before = await store.digest();
      const row = { rootId: 'root', position: positionAt(1), sha256: stepAt(1, []).sha256 };
      await store.adopt(testPermit(7), new Map([[key, row]]));
      deepStrictEqual(await store.digest(), before);
      strictEqual(await codeOf(store.apply(permit, [log(4)])), 'FENCE_STALE');
      await store.apply(testPermit(7), [log(4)]);
      deepStrictEqual(
        await store.rows({ after: undefined, limit: 2 }),
        new Map([[key, { rootId: 'root', position: positionAt(4), sha256: stepAt(4, []).sha256 }]]),
      );
    },
  },
  {
    name: 'shows the row of another root as it is, and refuses to write behind it (ING-541)',
    async run(harness) {
      const first = await harness.open({ rootId: 'first' });
      await first.apply(permit, [log(1)]);
      const second = await harness.reopen({ rootId: 'second' });
      strictEqual((await second.armKeys(permit, [key])).get(key)?.rootId, 'first');
      const before = await second.digest();
      strictEqual(await codeOf(second.apply(permit, [log(2)])), 'GRAPH_MISMATCH');
      deepStrictEqual(await second.digest(), before);
    },
  },
  {
    name: 'applies groups that are handed over side by side, each whole',
    async run(harness) {
      const store = await harness.open();
      const groups = Array.from({ length: 20 }, (_, at) => [
        part(`a-${at}`, [[node(`a-${at}`, `a-${at}`, ['Session'], { at })]]),
        part(`b-${at}`, [[edge(`b-${at}`, 'ENCOMPASSES', `a-${at}`)]]),
      ]);
      await Promise.all(groups.map((group) => store.apply(permit, group)));
      const { nodes, edges } = await store.digest();
      deepStrictEqual([nodes, edges], [40, 20]);
    },
  },
  {
    name: 'keeps its id and its spill limit over a new opening (ING-540, D30)',
    async run(harness) {
      const store = await harness.open();
      const { graphId, spillBytes } = store;
      notStrictEqual(graphId, '');
      const again = await harness.reopen();
      deepStrictEqual([again.graphId, again.spillBytes], [graphId, spillBytes]);
    },
  },
  {
    name: 'answers a probe while it is well, and refuses every call once it is closed',
    async run(harness) {
      const store = await harness.open();
      await store.probe();
      await store.close();
      await store.close();
      for (const call of [
        store.probe(),
        store.digest(),
        store.stats(),
        store.apply(permit, [log(1)]),
        store.armKeys(permit, [key]),
      ])
        strictEqual(await codeOf(call), 'GRAPH_UNAVAILABLE');
    },
  },
];

const started = { type: 'started', parent: null, occurredAt: time(1) } as const;

function recordsOf({ steps }: GroupPart): readonly GroupPart['steps'][number]['mutations'][] {
  return steps.map(({ mutations }) => mutations);
}
