import { createHash } from 'node:crypto';
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  codeOf,
  edge,
  exportedText,
  node,
  part,
  permit,
  readNode,
  time,
  type GraphCheck,
} from './harness.ts';

/** In the order of their UTF-8 bytes; UTF-16 would put the last two the other way round. */
const odd = ['"quoted"', 'S', 'a', 'é', 'ｚ', '😀'];

/** Canonical form, digest and counts (D26). */
export const exportChecks: readonly GraphCheck[] = [
  {
    name: 'writes the canonical lines of a small graph, byte for byte (D26)',
    async run(harness) {
      const store = await harness.open();
      const properties = {
        started_at: { $time: time(7) },
        b: 'x',
        A: [1, 2.5, -0],
        flag: false,
        big: 1e21,
      };
      await store.apply(permit, [
        part('s', [
          [
            node('s', 's', ['Session', 'A'], properties),
            edge('s', 'HAS_PART', 's::1', {
              properties: { sst_semantic: 'CONTAINS' },
              occurredAt: time(8),
            }),
          ],
        ]),
      ]);
      strictEqual(
        await exportedText(store),
        [
          `{"node":{"id":"s","labels":["A","Session"],"properties":{"A":[1,2.5,0],"b":"x","big":1e+21,"flag":false,"started_at":"${time(7)}"},"workspace":"w"}}`,
          '{"node":{"id":"s::1","labels":["Prompt"],"properties":{},"workspace":"w"}}',
          `{"edge":{"from":"s","properties":{"occurred_at":"${time(8)}","sst_semantic":"CONTAINS"},"to":"s::1","type":"HAS_PART","workspace":"w"}}`,
          '',
        ].join('\n'),
      );
    },
  },
  {
    name: 'sorts nodes and edges as UTF-8 bytes, not as UTF-16 (D26)',
    async run(harness) {
      const store = await harness.open();
      const shuffled = [4, 1, 5, 0, 3, 2].map((at) => odd[at] ?? '');
      for (const workspace of shuffled) {
        const records = shuffled.map((id) => [edge('s::', 'NEXT', `s::${id}`)]);
        await store.apply(permit, [part('s', records, { workspace })]);
      }
      const lines = (await exportedText(store)).split('\n').slice(0, -1);
      const found = lines.map(
        (line) =>
          JSON.parse(line) as Record<
            'node' | 'edge',
            { workspace: string; id: string; to: string }
          >,
      );
      deepStrictEqual(
        found.flatMap(({ node: one }) => (one === undefined ? [] : [one.workspace, one.id].join())),
        odd.flatMap((workspace) => ['', ...odd].map((id) => `${workspace},s::${id}`)),
      );
      deepStrictEqual(
        found.flatMap(({ edge: one }) => (one === undefined ? [] : [one.workspace, one.to].join())),
        odd.flatMap((workspace) => odd.map((id) => `${workspace},s::${id}`)),
      );
    },
  },
  {
    name: 'keeps every text as it is: control characters, quotes, surrogates, what looks like a time',
    async run(harness) {
      const store = await harness.open();
      const texts = {
        nul: 'a\u0000b',
        lines: 'a\nb\u2028c',
        quote: 'say "{\\"$time\\":\\"x\\"}" \\',
        json: `{"$time":"${time(1)}"}`,
        list: [`{"$time":"${time(1)}"}`, ''],
        astral: '😀',
        empty: '',
      };
      await store.apply(permit, [part('s', [[node('s', 's', ['Session'], texts)]])]);
      deepStrictEqual((await readNode(store, 's'))?.properties, texts);
    },
  },
  {
    name: 'keeps labels and properties whose names a careless map would lose',
    async run(harness) {
      const store = await harness.open();
      const properties = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<
        string,
        string
      >;
      const labels = ['__proto__', 'constructor', 'Session'];
      await store.apply(permit, [part('s', [[node('s', 's', labels, properties)]])]);
      ok(
        (await exportedText(store)).includes(
          '"labels":["Session","__proto__","constructor"],"properties":{"__proto__":"x","constructor":"y"}',
        ),
      );
    },
  },
  {
    name: 'makes its digest of the bytes that it exports, and counts what is there',
    async run(harness) {
      const store = await harness.open();
      const empty = createHash('sha256').digest('hex');
      deepStrictEqual(await store.digest(), { digest: empty, nodes: 0, edges: 0 });
      await store.apply(permit, [
        part('s', [
          [node('s', 's', ['Session']), edge('s', 'NEXT', 's::1')],
          [edge('s', 'NEXT', 't')],
        ]),
      ]);
      const bytes = await exportedText(store);
      const digest = createHash('sha256').update(bytes).digest('hex');
      deepStrictEqual(await store.digest(), { digest, nodes: 3, edges: 2 });
      deepStrictEqual(await store.stats(), {
        nodes: 3,
        edges: 2,
        labels: { Prompt: 1, Session: 2, StubSession: 1 },
        types: { NEXT: 2 },
      });
    },
  },
  {
    name: 'exports one instant, in chunks of whole lines, while groups are applied',
    async run(harness) {
      const store = await harness.open();
      const text = 'x'.repeat(4096);
      const fill = (first: number): Promise<void> =>
        store.apply(permit, [
          part(
            's',
            [
              Array.from({ length: 200 }, (_, at) =>
                node('s', `s::${first + at}`, ['Prompt'], { text }),
              ),
            ],
            {
              first,
            },
          ),
        ]);
      await fill(1);
      const before = await store.digest();
      const hash = createHash('sha256');
      let chunkCount = 0;
      for await (const chunk of store.export()) {
        if (chunkCount === 0) await fill(201);
        chunkCount += 1;
        strictEqual(chunk.at(-1), 0x0a);
        hash.update(chunk);
      }
      ok(chunkCount > 1);
      strictEqual(hash.digest('hex'), before.digest);
      strictEqual((await store.digest()).nodes, 400);
    },
  },
  {
    name: 'lets a reader leave an export, as often as it likes',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [part('s', [[node('s', 's', ['Session'])]])]);
      for (let round = 0; round < 10; round += 1) {
        for await (const chunk of store.export()) {
          ok(chunk.length > 0);
          break;
        }
      }
      strictEqual((await store.digest()).nodes, 1);
    },
  },
  {
    name: 'has no query to offer and says so by name',
    needs: 'no-queries',
    async run(harness) {
      const store = await harness.open();
      strictEqual(await codeOf(store.query('sessions', {})), 'QUERY_UNKNOWN');
    },
  },
];
