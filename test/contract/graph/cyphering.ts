import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { GraphStore } from '#graph';
import { codeOf, edge, fact, node, part, permit, time, type GraphCheck } from './harness.ts';

const never = new AbortController().signal;
const limits = { rows: 100, bytes: 1_000_000, timeMs: 5000 };

interface Asked {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly workspaces?: readonly string[];
  readonly limits?: Partial<typeof limits>;
}

async function rowsOf(store: GraphStore, text: string, asked: Asked = {}): Promise<unknown> {
  const { rows } = await store.cypher(
    {
      text,
      parameters: asked.parameters ?? {},
      workspaces: asked.workspaces,
      limits: { ...limits, ...asked.limits },
    },
    never,
  );
  return rows;
}

/** A session with a run of two iterations, and another session that it forked; the same again in a second workspace. */
async function fill(store: GraphStore): Promise<void> {
  for (const workspace of ['w', 'v']) {
    const started = { type: 'started', parent: null, occurredAt: time(1) } as const;
    const own = [
      node('s', 's', ['Session'], { session_id: 's', status: 'running', size: 3, share: 0.5 }),
      fact('s', 's__e', started),
      node('s', 's::1', ['Prompt'], { text: 'one', at: { $time: time(2) } }),
      node('s', 's::2', ['Prompt'], { text: 'two', list: ['a', 'b'] }),
      edge('s', 'HAS_PART', 's::1', { properties: { sst_semantic: 'CONTAINS' } }),
      edge('s', 'HAS_PART', 's::2'),
      edge('s::1', 'NEXT', 's::2', { occurredAt: time(3) }),
      edge('s::2', 'NEXT', 's::2'),
    ];
    await store.apply(permit, [part('s', [own], { workspace })]);
    const other = node('t', 't', ['Session'], { session_id: 't', status: 'completed' });
    await store.apply(permit, [part('t', [[other, edge('t', 'NEXT', 's')]], { workspace })]);
  }
}

const w = { workspaces: ['w'] };

/** Query, rows. */
const table: readonly (readonly [text: string, rows: unknown, asked?: Asked])[] = [
  ['MATCH (n) RETURN count(*)', [[4]]],
  ['MATCH (n:Session) RETURN n.session_id AS id ORDER BY id DESC', [['t'], ['s']]],
  ['MATCH (n:Session {status: $status}) RETURN n.size, n.share', [[3, 0.5]]],
  ["MATCH (n {node_id: 's::1'}) RETURN n.text, labels(n), n.workspace", [['one', ['Prompt'], 'w']]],
  [
    "MATCH (n:Session) WHERE n.session_id = 's' RETURN labels(n)",
    [[['RootSession', 'SST_EVENT', 'Session']]],
  ],
  [
    'MATCH (s:Session)-[r:HAS_PART]->(p) RETURN p.text, r.sst_semantic ORDER BY p.text',
    [
      ['one', 'CONTAINS'],
      ['two', null],
    ],
  ],
  ['MATCH (p:Prompt)<-[:HAS_PART]-(s)<-[:NEXT]-(t) RETURN DISTINCT t.session_id', [['t']]],
  // No edge twice: from one prompt over the session to the other, never back over the same edge.
  [
    'MATCH (a:Prompt)<-[:HAS_PART]-(s)-[:HAS_PART]->(b) RETURN a.text, b.text ORDER BY a.text',
    [
      ['one', 'two'],
      ['two', 'one'],
    ],
  ],
  ['MATCH (a:Prompt)<-[:HAS_PART]-()<-[:HAS_PART]-(b) RETURN count(*)', [[0]]],
  // A look at one property, by text, by parameter, by another node, and by what is no text.
  ["MATCH (p:Prompt {text: 'one'}) RETURN p.node_id", [['s::1']]],
  ["MATCH (p) WHERE 'two' = p.text AND p.list IS NOT NULL RETURN p.node_id", [['s::2']]],
  ['MATCH (s) WHERE s.status = $status RETURN s.session_id', [['s']]],
  ["MATCH (p:Prompt {text: 'one'}) MATCH (q:Prompt {text: p.text}) RETURN q.node_id", [['s::1']]],
  ['MATCH (s:Session {size: 3}) RETURN s.session_id', [['s']]],
  ['MATCH (p:Prompt {text: null}) RETURN count(*)', [[0]]],
  ["MATCH (p:Prompt) WHERE p.at = '2026' RETURN count(*)", [[0]]],
  ['MATCH (n)-[:NEXT]->(n) RETURN n.text', [['two']]],
  [
    "MATCH (p:Prompt {text: 'one'}) RETURN keys(p), count(*)",
    [[['at', 'node_id', 'text', 'workspace'], 1]],
  ],
  [
    'MATCH ()-[r:HAS_PART]->() RETURN keys(r) AS k, count(*) ORDER BY size(k)',
    [
      [[], 1],
      [['sst_semantic'], 1],
    ],
  ],
  ['MATCH (n)-[:NEXT]-(n) RETURN n.text', [['two']]],
  ["MATCH (a {session_id: 't'})-[:NEXT|HAS_PART*1..4]->(b) RETURN count(*)", [[6]]],
  ["MATCH (a {session_id: 't'})-[:NEXT|HAS_PART]->{1,4}(b) RETURN count(*)", [[6]]],
  [
    "MATCH (a IS Session {session_id: 't'})-[r IS NEXT|HAS_PART]->{,1}(b) RETURN sum(size(r))",
    [[1]],
  ],
  [
    "MATCH (a {session_id: 't'})-[r:NEXT*0..1]->(b) RETURN size(r), b.session_id ORDER BY size(r)",
    [
      [0, 't'],
      [1, 's'],
    ],
  ],
  [
    "MATCH (a {session_id: 't'}), (b {text: 'two'}) MATCH p = shortestPath((a)-[*..5]-(b)) RETURN length(p), [n IN nodes(p) | n.node_id]",
    [[2, ['t', 's', 's::2']]],
  ],
  [
    "MATCH p = (:Session)-[:HAS_PART]->()-[:NEXT]->({text: 'two'}) RETURN length(p), [r IN relationships(p) | type(r)]",
    [
      [2, ['HAS_PART', 'NEXT']],
      [2, ['HAS_PART', 'NEXT']],
    ],
  ],
  [
    'MATCH (s:Session) OPTIONAL MATCH (s)-[:HAS_PART]->(p:Prompt) RETURN s.session_id AS s, count(p) AS n ORDER BY s',
    [
      ['s', 2],
      ['t', 0],
    ],
  ],
  ['MATCH (s:Session) WHERE NOT (s)-[:HAS_PART]->() RETURN s.session_id', [['t']]],
  [
    'MATCH (s:Session) WHERE EXISTS { (s)-[:HAS_PART]->(p) WHERE p.text STARTS WITH "t" } RETURN s.session_id',
    [['s']],
  ],
  [
    'MATCH (s:Session) RETURN s.session_id AS s, COUNT { (s)-[:HAS_PART]->() } AS n ORDER BY s',
    [
      ['s', 2],
      ['t', 0],
    ],
  ],
  [
    'MATCH (s:Session) CALL { WITH s MATCH (s)-[:HAS_PART]->(p) RETURN collect(p.text) AS texts } RETURN s.session_id, size(texts) ORDER BY s.session_id',
    [
      ['s', 2],
      ['t', 0],
    ],
  ],
  [
    'MATCH (p:Prompt) WITH p ORDER BY p.text DESC LIMIT 1 RETURN p{.text, kind: labels(p)[0]}',
    [[{ text: 'two', kind: 'Prompt' }]],
  ],
  [
    'MATCH (p:Prompt) WHERE p.at IS NOT NULL RETURN p.at, p.at.year, p.at < datetime("2027-01-01")',
    [[time(2), 2026, true]],
  ],
  [
    'MATCH (a)-[r:NEXT]->(b) WHERE r.occurred_at IS NOT NULL RETURN startNode(r).text, endNode(r).text, type(r)',
    [['one', 'two', 'NEXT']],
  ],
  ['MATCH (n:Prompt) UNWIND n.list AS x RETURN x', [['a'], ['b']]],
  ['MATCH (n:Session&!RootSession) RETURN n.session_id', [['t']]],
  ['MATCH (n:RootSession|Prompt) RETURN count(n)', [[3]]],
  [
    "MATCH (n) WHERE n.session_id = 's' RETURN 1 AS x UNION ALL MATCH (n:Nobody) RETURN 2 AS x",
    [[1]],
  ],
];

/** Read-only Cypher, the same rows on every store that has it (D9). */
export const cypherChecks: readonly GraphCheck[] = [
  {
    name: 'answers Cypher: patterns, trails, paths, groups and subqueries',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      await fill(store);
      const parameters = { status: 'running' };
      for (const [text, rows] of table)
        deepStrictEqual(await rowsOf(store, text, { ...w, parameters }), rows, text);
    },
  },
  {
    name: 'shows a query nothing but the workspaces of its caller, whatever it says',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      await fill(store);
      strictEqual(JSON.stringify(await rowsOf(store, 'MATCH (n) RETURN count(*)')), '[[8]]');
      for (const text of [
        "MATCH (n) WHERE n.workspace = 'v' RETURN n",
        "MATCH (n {node_id: 's', workspace: 'v'}) RETURN n",
        "MATCH (a)-[*1..3]-(b) WHERE b.workspace <> 'w' RETURN b",
      ])
        deepStrictEqual(await rowsOf(store, text, w), [], text);
      deepStrictEqual(await rowsOf(store, 'MATCH (n) RETURN n', { workspaces: [] }), []);
    },
  },
  {
    name: 'answers whole nodes and edges with id, labels and properties',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      await fill(store);
      deepStrictEqual(
        await rowsOf(store, "MATCH (n {node_id: 's::2'})-[r:NEXT]->(n) RETURN n, r", w),
        [
          [
            {
              id: 's::2',
              workspace: 'w',
              labels: ['Prompt'],
              properties: { list: ['a', 'b'], text: 'two', node_id: 's::2', workspace: 'w' },
            },
            { from: 's::2', type: 'NEXT', to: 's::2', properties: {} },
          ],
        ],
      );
    },
  },
  {
    name: 'counts, filters and sorts more nodes than are read at once, of all workspaces and of one',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      const perWorkspace = 1_300;
      for (const workspace of ['w', 'v']) {
        const calls = Array.from({ length: perWorkspace }, (_, at) =>
          node('s', `s::${at}`, ['ToolCall'], {
            tool_name: at % 2 === 0 ? 'grep' : '\u{1f600}\uffee',
            at,
            began: { $time: time(at % 60) },
          }),
        );
        const edges = calls.map(({ id }) => edge('s', 'HAS_TOOL_CALL', id));
        await store.apply(permit, [part('s', [[...calls, ...edges]], { workspace })]);
      }
      const half = perWorkspace / 2;
      const byTool = 'MATCH (t:ToolCall) RETURN t.tool_name AS tool, count(*) AS n ORDER BY tool';
      const late =
        "MATCH (t:ToolCall) WHERE t.tool_name <> 'grep' RETURN t.at AS at ORDER BY t.began DESC, at SKIP 2 LIMIT 2";
      const questions: readonly (readonly [string, (spaces: number) => unknown])[] = [
        ['MATCH (t:ToolCall) RETURN count(t)', (spaces) => [[spaces * perWorkspace]]],
        ['MATCH (t:Nothing) RETURN count(t)', () => [[0]]],
        ['MATCH (n) RETURN count(*)', (spaces) => [[spaces * (perWorkspace + 1)]]],
        ['MATCH ()-[r:HAS_TOOL_CALL]->() RETURN count(r)', (spaces) => [[spaces * perWorkspace]]],
        ['MATCH (a)<-[]-() RETURN count(a)', (spaces) => [[spaces * perWorkspace]]],
        [
          'MATCH (n) WITH n LIMIT 1 CALL { MATCH (t:ToolCall) RETURN count(t) AS c } RETURN c',
          (spaces) => [[spaces * perWorkspace]],
        ],
        [
          byTool,
          (spaces) => [
            ['grep', spaces * half],
            ['\u{1f600}\uffee', spaces * half],
          ],
        ],
        [late, (spaces) => (spaces === 1 ? [[179], [239]] : [[119], [119]])],
        [
          'MATCH (:Session)-[:HAS_TOOL_CALL]->(t:ToolCall) WHERE t.at > 1000 RETURN max(t.at), count(*)',
          (spaces) => [[perWorkspace - 1, spaces * (perWorkspace - 1001)]],
        ],
      ];
      for (const [text, rows] of questions) {
        deepStrictEqual(await rowsOf(store, text), rows(2), text);
        deepStrictEqual(await rowsOf(store, text, w), rows(1), text);
      }
    },
  },
  {
    name: 'stops a query at its rows and at its time',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      await fill(store);
      const few = { workspaces: undefined, parameters: {}, limits: { ...limits, rows: 2 } };
      const answer = await store.cypher({ text: 'MATCH (n) RETURN n.node_id', ...few }, never);
      strictEqual(answer.rows.length, 2);
      strictEqual(answer.hasMore, true);
      const endless = 'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(*)';
      const short = { ...few, limits: { ...limits, timeMs: 20 } };
      strictEqual(await codeOf(store.cypher({ text: endless, ...short }, never)), 'QUERY_TIMEOUT');
      const abort = new AbortController();
      const cancelled = store.cypher(
        { text: endless, ...few, limits: { ...limits, timeMs: 600_000 } },
        abort.signal,
      );
      abort.abort();
      strictEqual(await codeOf(cancelled), 'QUERY_TIMEOUT');
    },
  },
  {
    name: 'refuses what is no query, and what would write, with line and column',
    needs: 'queries',
    async run(harness) {
      const store = await harness.open();
      const asked = { parameters: {}, workspaces: undefined, limits };
      strictEqual(
        await codeOf(store.cypher({ text: 'MATCH (n', ...asked }, never)),
        'CYPHER_INVALID',
      );
      strictEqual(
        await codeOf(store.cypher({ text: 'CREATE (n)', ...asked }, never)),
        'CYPHER_UNSUPPORTED',
      );
    },
  },
];
