import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { JsonObject } from '#base';
import { Compile } from 'typebox/schema';
import { describeQuery, namedQueries, type GraphStore, type QueryResult } from '#graph';
import { foldLogs, recordOf } from '../../support/graph-fixtures.ts';
import { codeOf, permit, type GraphCheck } from './harness.ts';

type Event = readonly [event: string, data?: JsonObject];

function bodies(workspace: string, session: string, events: readonly Event[]): JsonObject[] {
  return events.map(([event, data], at) => ({
    event,
    workspace,
    event_id: `${session}-${at}`,
    data: { session_id: session, timestamp: clockAt(at), ...data },
  }));
}

function clockAt(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 9, 0, second)).toISOString();
}

function shown(second: number): string {
  return `${clockAt(second).slice(0, -1)}000000Z`;
}

const turn: readonly Event[] = [
  ['session:start'],
  ['prompt:submit', { prompt: 'fix it' }],
  ['execution:start'],
  ['provider:request'],
  ['llm:request', { provider: 'acme', model: 'm-1' }],
  ['llm:response', { usage: { input_tokens: 10, output_tokens: 4, cache_read_tokens: 3 } }],
  [
    'tool:pre',
    { tool_name: 'read_file', tool_call_id: 'a', tool_input: { file_path: 'src/a.ts' } },
  ],
  ['tool:post', { tool_name: 'read_file', tool_call_id: 'a', result: { success: true } }],
  ['tool:pre', { tool_name: 'bash', tool_call_id: 'b', tool_input: { command: 'false' } }],
  ['tool:error', { tool_name: 'bash', tool_call_id: 'b', error: 'exit 1' }],
  ['artifact:write', { path: 'out.md', bytes: 3 }],
  ['delegate:error', { error: { message: 'no such agent' } }],
  ['tool:pre', { tool_name: 'bash', tool_call_id: 'c', tool_input: { command: 'sleep' } }],
];

const child: readonly Event[] = [
  ['session:fork', { parent_id: 'top' }],
  ['tool:pre', { tool_name: 'edit', tool_call_id: 'a', tool_input: { path: 'src/a.ts' } }],
  ['session:end'],
];

/** Two workspaces with a session `top` each; in the first one it has a child. */
async function withSessions(store: GraphStore): Promise<GraphStore> {
  const records = [
    ...bodies('one', 'top', turn),
    ...bodies('one', 'child', child),
    ...bodies('two', 'top', turn.slice(0, 8)),
  ].map(recordOf);
  await store.apply(permit, foldLogs(records));
  return store;
}

function rowsOf(result: QueryResult, ...columns: readonly string[]): readonly unknown[][] {
  const places = columns.map((column) => result.columns.indexOf(column));
  ok(!places.includes(-1), `the answer has ${result.columns.join(', ')}`);
  return result.rows.map((row) => places.map((place) => row[place]));
}

function query(name: string, run: (store: GraphStore) => Promise<void>): GraphCheck {
  return {
    name,
    needs: 'queries',
    async run(harness) {
      await run(await withSessions(await harness.open()));
    },
  };
}

/** Named queries: what each tells, and what all of them refuse. */
export const queryChecks: readonly GraphCheck[] = [
  query('lists sessions with kind, parent and events, the last changed first', async (store) => {
    const result = await store.query('sessions', {});
    const columns = ['workspace', 'session', 'kind', 'status', 'parent', 'events', 'ended_at'];
    deepStrictEqual(rowsOf(result, ...columns), [
      ['one', 'top', 'root', 'running', null, 13, null],
      ['two', 'top', 'root', 'running', null, 8, null],
      ['one', 'child', 'forked', 'completed', 'top', 3, shown(2)],
    ]);
    const some = await store.query('sessions', { kind: 'forked', parent: 'top' });
    deepStrictEqual(rowsOf(some, 'session'), [['child']]);
    const late = await store.query('sessions', { since: clockAt(7) });
    strictEqual(late.rows.length, 2);
  }),
  query('shows one session as a tree, depth first, its children among its parts', async (store) => {
    const result = await store.query('session-tree', { session: 'top', workspace: 'one' });
    deepStrictEqual(rowsOf(result, 'depth', 'kind', 'name', 'via'), [
      [0, 'Session', null, null],
      [1, 'Session', null, 'FORKED'],
      [2, 'MountPlan', null, 'HAS_PART'],
      [1, 'Prompt', 'fix it', 'HAS_PART'],
      [1, 'OrchestratorRun', null, 'HAS_EXECUTION'],
      [2, 'Iteration', 'm-1', 'HAS_PART'],
      [3, 'ToolCall', 'read_file', 'HAS_TOOL_CALL'],
      [3, 'ToolCall', 'bash', 'HAS_TOOL_CALL'],
      [3, 'ToolCall', 'bash', 'HAS_TOOL_CALL'],
    ]);
    const flat = await store.query('session-tree', { session: 'top', workspace: 'one', depth: 1 });
    strictEqual(flat.rows.length, 4);
    const nobody = await store.query('session-tree', { session: 'nobody' });
    deepStrictEqual([nobody.rows, nobody.hasMore], [[], false]);
  }),
  query('counts tool calls by name, their failures and those that never ended', async (store) => {
    const result = await store.query('tool-calls', { workspace: 'one' });
    deepStrictEqual(
      rowsOf(result, 'tool', 'calls', 'failures', 'unfinished', 'sessions', 'average_ms'),
      [
        ['bash', 2, 1, 1, 1, 1000],
        ['edit', 1, 0, 1, 1, null],
        ['read_file', 1, 0, 0, 1, 1000],
      ],
    );
    const own = await store.query('tool-calls', { session: 'child' });
    deepStrictEqual(rowsOf(own, 'tool'), [['edit']]);
    const one = await store.query('tool-calls', { tool: 'read_file' });
    deepStrictEqual(rowsOf(one, 'workspace', 'calls'), [
      ['one', 1],
      ['two', 1],
    ]);
  }),
  query('lists files that tools and artifact events touched', async (store) => {
    const result = await store.query('files-touched', { workspace: 'one' });
    deepStrictEqual(rowsOf(result, 'path', 'touches', 'tools', 'sessions', 'first_at'), [
      ['src/a.ts', 2, 'edit,read_file', 2, shown(1)],
      ['out.md', 1, 'artifact:write', 1, shown(10)],
    ]);
    const some = await store.query('files-touched', { contains: 'out', session: 'top' });
    deepStrictEqual(rowsOf(some, 'path'), [['out.md']]);
  }),
  query('lists errors once each, with what was said, newest first', async (store) => {
    const result = await store.query('errors', {});
    deepStrictEqual(rowsOf(result, 'workspace', 'kind', 'name', 'message'), [
      ['one', 'event', 'delegate:error', 'no such agent'],
      ['one', 'tool', 'bash', 'exit 1'],
    ]);
    const none = await store.query('errors', { session: 'child' });
    deepStrictEqual(none.rows, []);
  }),
  query('tells the events of one session in order of time', async (store) => {
    const result = await store.query('timeline', { session: 'child', workspace: 'one' });
    deepStrictEqual(rowsOf(result, 'at', 'event', 'tool'), [
      [shown(0), 'session:fork', null],
      [shown(1), 'tool:pre', 'edit'],
      [shown(2), 'session:end', null],
    ]);
    const some = await store.query('timeline', {
      session: 'child',
      since: clockAt(1),
      until: clockAt(2),
    });
    deepStrictEqual(rowsOf(some, 'event'), [['tool:pre']]);
  }),
  {
    name: 'tells events of one instant in the order in which they must have happened',
    needs: 'queries',
    async run(harness) {
      const instant = { timestamp: clockAt(5) };
      const names = [
        'session:start',
        'other:event',
        'llm:request',
        'content_block:end',
        'tool:pre',
      ];
      const ends = ['tool:post', 'execution:end', 'orchestrator:complete'];
      const next = ['prompt:submit', 'execution:start', 'session:end'];
      const expected = [...names, ...ends, ...next];
      const call = { tool_name: 'bash', tool_call_id: 'a' };
      const events = expected.toSorted().map((name): Event => [name, { ...instant, ...call }]);
      const store = await harness.open();
      await store.apply(permit, foldLogs(bodies('one', 'tied', events).map(recordOf)));
      const result = await store.query('timeline', { session: 'tied' });
      deepStrictEqual(rowsOf(result, 'event').flat(), expected);
    },
  },
  {
    name: 'shows of one instant a prompt before its run, and blocks by when they ended',
    needs: 'queries',
    async run(harness) {
      const block = { block_type: 'text', block_index: 0, total_blocks: 1 };
      const events: readonly Event[] = [
        ['prompt:submit', { prompt: 'fix it' }],
        ['execution:start', { timestamp: clockAt(0) }],
        ['provider:request'],
        ['llm:request', { model: 'm-1' }],
        ['content_block:end', { ...block, block: { type: 'text' } }],
        ['tool:pre', { tool_name: 'bash', tool_call_id: 'a' }],
      ];
      const store = await harness.open();
      await store.apply(permit, foldLogs(bodies('one', 'top', events).map(recordOf)));
      const result = await store.query('session-tree', { session: 'top' });
      deepStrictEqual(rowsOf(result, 'kind').flat(), [
        'Session',
        'Prompt',
        'OrchestratorRun',
        'Iteration',
        'ContentBlock',
        'ToolCall',
      ]);
    },
  },
  query('sums tokens by session and model', async (store) => {
    const result = await store.query('token-usage', { workspace: ['one', 'none'] });
    deepStrictEqual(
      rowsOf(result, 'session', 'provider', 'model', 'iterations', 'input', 'output', 'cache_read'),
      [['top', 'acme', 'm-1', 1, 10, 4, 3]],
    );
  }),
  query('keeps every query within the workspaces that it was given', async (store) => {
    for (const { name, parameters } of namedQueries) {
      const session = parameters['session']?.isRequired === true ? { session: 'top' } : {};
      const none = await store.query(name, { ...session, workspace: ['nowhere'] });
      deepStrictEqual(none.rows, [], name);
      const two = await store.query(name, { ...session, workspace: 'two' });
      const places = new Set(rowsOf(two, 'workspace').flat());
      deepStrictEqual([...places], name === 'errors' ? [] : ['two'], name);
    }
  }),
  query('answers rows that fit the schema by which each query is described', async (store) => {
    for (const named of namedQueries) {
      const needsSession = named.parameters['session']?.isRequired === true;
      const { rows } = await store.query(named.name, needsSession ? { session: 'top' } : {});
      const row = Compile(describeQuery(named).row);
      for (const cells of rows) {
        const told = Object.fromEntries(named.columns.map((column, at) => [column, cells[at]]));
        ok(
          row.Check(told),
          `${named.name}: ${JSON.stringify(row.Errors(told))} ${JSON.stringify(told)}`,
        );
      }
      ok(rows.length > 0, named.name);
    }
  }),
  query('says when its limit left rows out', async (store) => {
    const some = await store.query('sessions', { limit: 2 });
    deepStrictEqual([some.rows.length, some.hasMore], [2, true]);
    const all = await store.query('sessions', { limit: '3' });
    deepStrictEqual([all.rows.length, all.hasMore], [3, false]);
  }),
  query('refuses a query and parameters that it does not know, by name', async (store) => {
    strictEqual(await codeOf(store.query('no-such', {})), 'QUERY_UNKNOWN');
    const wrong: readonly (readonly [string, JsonObject])[] = [
      ['sessions', { nothing: 1 }],
      ['sessions', { limit: 0 }],
      ['sessions', { limit: 'many' }],
      ['sessions', { limit: 10_001 }],
      ['sessions', { limit: 1.5 }],
      ['sessions', { since: 'yesterday' }],
      ['sessions', { workspace: [1] }],
      ['sessions', { kind: '' }],
      ['timeline', {}],
      ['timeline', { session: null }],
      ['timeline', { session: 'x'.repeat(5000) }],
    ];
    for (const [name, parameters] of wrong)
      strictEqual(await codeOf(store.query(name, parameters)), 'QUERY_INVALID');
  }),
];
