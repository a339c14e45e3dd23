import { afterEach, describe, expect, it } from 'vitest';
import type { GraphStore } from '#graph';
import { note, notes } from '../drain/drain-fixture.ts';
import { openOps, operator, stranger, type OpsFixture, type Row } from './ops-fixture.ts';

const open: OpsFixture[] = [];

async function openHere(options: Parameters<typeof openOps>[0] = {}): Promise<OpsFixture> {
  const fixture = await openOps(options);
  open.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

const limited = { ...operator, principal: 'limited', workspaces: ['other'] };

function names(answer: Row, member = 'sessions', name = 'session_id'): readonly unknown[] {
  return (answer[member] as readonly Row[]).map((row) => row[name]);
}

describe('who am I', () => {
  it('tells a token what it may do, in our scopes and in the predecessor\u2019s rights', async () => {
    const { call } = await openHere();
    expect(await call('whoami', {}, limited)).toEqual({
      id: 'limited',
      authenticated: true,
      scopes: ['ingest:read', 'ingest:write', 'ops:read', 'ops:write'],
      workspaces: ['other'],
      rights: { read: true, write: true, admin: true },
    });
    const local = { ...operator, principal: 'local', scopes: new Set(['ingest:read']) };
    expect(await call('whoami', {}, local)).toMatchObject({
      authenticated: false,
      workspaces: null,
      rights: { read: true, write: false, admin: false },
    });
  });

  it('refuses who proved nothing', async () => {
    const { call } = await openHere();
    await expect(call('whoami', {}, stranger)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('named queries', () => {
  it('are told with the schemas of their parameters and rows', async () => {
    const { call } = await openHere();
    const { queries } = (await call('queries list')) as { readonly queries: readonly Row[] };
    expect(queries.map(({ name }) => name)).toContain('session-tree');
    const timeline = await call('queries show', { name: 'timeline' });
    expect(timeline).toEqual(queries.find(({ name }) => name === 'timeline'));
    expect(timeline).toMatchObject({
      parameters: {
        required: ['session'],
        additionalProperties: false,
        properties: {
          since: { type: 'string', format: 'date-time' },
          limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 1000 },
        },
      },
      row: { required: timeline['columns'], properties: { event: { type: 'string' } } },
    });
    await expect(call('queries show', { name: 'none' })).rejects.toMatchObject({
      code: 'QUERY_UNKNOWN',
    });
  });
});

describe('finding sessions', () => {
  it('narrows by text and by state, and goes on where a page ended', async () => {
    const fixture = await openHere();
    for (let at = 0; at < 30; at += 1)
      await fixture.post(...notes(at % 10 === 3 ? `build-${at}` : `talk-${at}`, 1));
    await fixture.drained();
    fixture.graph.setUnavailable(true);
    await fixture.post(note('build-13', 5));
    const list = (input: Row): Promise<Row> => fixture.call('sessions list', input);
    expect(names(await list({ search: 'BUILD' }))).toEqual(['build-13', 'build-23', 'build-3']);
    expect(names(await list({ state: 'backlog' }))).toEqual(['build-13']);
    expect(names(await list({ state: 'dead' }))).toEqual([]);
    expect(names(await list({ search: 'w' }))).toHaveLength(30);
    const first = await list({ search: 'build', limit: 2 });
    const token = first['next_page_token'];
    const rest = await list({ search: 'build', limit: 2, page_token: token });
    expect([...names(first), ...names(rest)]).toEqual(['build-13', 'build-23', 'build-3']);
    expect(rest['next_page_token']).toBeUndefined();
    expect(names(await fixture.call('sessions list', { search: 'build' }, limited))).toEqual([]);
    fixture.graph.setUnavailable(false);
  });

  it('lists what changed last first, with what the graph tells, and leaves stubs out', async () => {
    const asked: unknown[] = [];
    const columns = ['workspace', 'session', 'kind', 'status', 'agent', 'parent', 'started_at'];
    const rows = ['c', 'stub', 'a', 'b'].map((one) => [
      'w',
      one,
      'root',
      'running',
      null,
      null,
      't',
    ]);
    const fixture = await openHere();
    const graph = {
      query(name: string, parameters: unknown) {
        asked.push([name, parameters]);
        const more = rows.map((row) => [...row, 't', null]);
        return Promise.resolve({
          columns: [...columns, 'last_updated', 'ended_at'],
          rows: more,
          hasMore: false,
        });
      },
    } as unknown as GraphStore;
    const second = await openHere({ context: { ...fixture.context, graph } });
    for (const one of ['a', 'b', 'c']) await fixture.post(...notes(one, 2));
    await fixture.drained();
    const page = await second.call('sessions list', { order: 'recent', limit: 2 });
    expect(names(page)).toEqual(['c', 'a']);
    expect(page).toMatchObject({ sessions: [{ accepted: 2, graph: { kind: 'root' } }, {}] });
    const token = page['next_page_token'];
    const rest = await second.call('sessions list', {
      order: 'recent',
      limit: 2,
      page_token: token,
    });
    expect(names(rest)).toEqual(['b']);
    const found = await second.call('sessions list', { order: 'recent', search: 'B' });
    expect(names(found)).toEqual(['b']);
    await second.call('sessions list', { order: 'recent' }, limited);
    expect(asked.at(-1)).toEqual(['sessions', { limit: 101, workspace: ['other'] }]);
    await expect(
      second.call('sessions list', { order: 'recent', page_token: 'w~a' }),
    ).rejects.toMatchObject({ code: 'PAGE_TOKEN_INVALID' });
  });
});

describe('the neighbourhood of a node', () => {
  it('tells the node, the count of its edges by type, and a page of them with their far ends', async () => {
    const fixture = await openHere();
    await fixture.post(
      note('a', 0, { text: 'x'.repeat(1000) }),
      ...notes('a', 3, 1),
      note('a', 9, {}, 'session:end'),
    );
    await fixture.drained();
    const ask = (input: Row): Promise<Row> =>
      fixture.call('graph neighbours', { workspace: 'w', node: 'a', ...input });
    const all = await ask({});
    expect(all).toMatchObject({
      node: { id: 'a', workspace: 'w', properties: { session_id: 'a' } },
      degrees: expect.arrayContaining([{ type: 'HAS_EVENT', direction: 'out', count: 5 }]),
    });
    const texts = (all['nodes'] as readonly Row[]).filter(({ cut }) => cut !== undefined);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatchObject({ cut: ['data'] });
    const first = await ask({ type: 'HAS_EVENT', direction: 'out', limit: 3 });
    expect([names(first, 'nodes', 'id').length, first['next_page_token']]).toEqual([3, '3']);
    const rest = await ask({ type: 'HAS_EVENT', direction: 'out', limit: 3, page_token: '3' });
    expect(names(rest, 'nodes', 'id')).toHaveLength(2);
    const seen = [...names(first, 'nodes', 'id'), ...names(rest, 'nodes', 'id')];
    expect(new Set(seen).size).toBe(5);
    const event = String(seen[0]);
    expect((await ask({ node: event }))['edges']).toContainEqual(
      expect.objectContaining({ from: 'a', type: 'HAS_EVENT', to: event }),
    );
  });

  it('refuses a node that is not there, another workspace, and a foreign token', async () => {
    const fixture = await openHere();
    await fixture.post(note('a', 0));
    await fixture.drained();
    const ask = (input: Row, caller = operator): Promise<Row> =>
      fixture.call('graph neighbours', { workspace: 'w', node: 'a', ...input }, caller);
    await expect(ask({ node: 'b' })).rejects.toMatchObject({ code: 'NODE_UNKNOWN' });
    await expect(ask({ workspace: 'v' })).rejects.toMatchObject({ code: 'NODE_UNKNOWN' });
    await expect(ask({}, limited)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(ask({ page_token: '-1' })).rejects.toMatchObject({ code: 'PAGE_TOKEN_INVALID' });
  });
});

describe('what the predecessor kept as files (D16, D30)', () => {
  const big = { lines: Array.from({ length: 9000 }, (_, at) => `line ${at}`) };

  async function withBlobs(): Promise<OpsFixture> {
    const fixture = await openHere();
    await fixture.post(
      note('a', 0, { result: { ok: true }, raw: null }, 'tool:post'),
      note('a', 1, { messages: big }, 'llm:request'),
      note('a', 2, { nothing: { result: 1 } }),
      note('b', 3, { debug: big, extra: big, more: big, text: 'y'.repeat(20_000) }),
    );
    await fixture.drained();
    return fixture;
  }

  it('lists the blobs of a session and reads them, small ones and those that became objects', async () => {
    const fixture = await withBlobs();
    const { blobs } = (await fixture.call('blobs list', { session: 'a' })) as {
      readonly blobs: readonly string[];
    };
    expect(blobs).toHaveLength(2);
    const keys = blobs.map((uri) => uri.replace('ci-blob://a/', ''));
    expect(keys.map((key) => /__([a-z_]+)$/.exec(key)?.[1])).toEqual(
      expect.arrayContaining(['result', 'messages']),
    );
    const values = await Promise.all(
      keys.map((key) => fixture.call('blobs show', { session: 'a', key })),
    );
    expect(values).toEqual(expect.arrayContaining([{ ok: true }, big]));
    expect(fixture.world.objects.size).toBeGreaterThan(0);
    const [sha256 = ''] = fixture.world.objects.keys();
    expect(JSON.parse(String((await fixture.call('objects show', { sha256 }))['text']))).toEqual(
      big,
    );
  });

  it('answers what is not there in the predecessor\u2019s words, and nothing of another workspace', async () => {
    const fixture = await withBlobs();
    const { call } = fixture;
    expect(await call('blobs list', { session: 'x' })).toEqual({ session_id: 'x', blobs: [] });
    expect(await call('blobs list', { session: 'a' }, limited)).toMatchObject({ blobs: [] });
    for (const [session, key] of [
      ['x', 'x__result'],
      ['a', 'a__result'],
      ['a', 'a__nothing'],
      ['a', '../a'],
    ])
      await expect(call('blobs show', { session, key })).rejects.toMatchObject({
        code: 'BLOB_UNKNOWN',
        message: `Blob not found: ci-blob://${session}/${key}`,
      });
    const sha256 = 'f'.repeat(64);
    await expect(call('objects show', { sha256 })).rejects.toMatchObject({
      code: 'OBJECT_UNKNOWN',
    });
    await expect(call('objects show', { sha256 }, limited)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it('sums up a session with all below it', async () => {
    const fixture = await withBlobs();
    await fixture.post(
      note('kid', 0, { parent_id: 'a' }, 'session:fork'),
      note('kid', 1, { parent_id: 'a' }, 'session:start'),
    );
    await fixture.drained();
    const summary = await fixture.call('sessions summary', { session: 'a' });
    expect(summary).toMatchObject({
      root_id: 'a',
      session_ids: ['a', 'kid'],
      subsession_count: 1,
      workspace: 'w',
      working_dir: null,
      blob_count: 2,
      started_at: '2026-06-01T00:00:00.000000000Z',
      deletable: true,
      pending_sessions: [],
    });
    const stats = await fixture.context.graph.stats();
    const alone = await fixture.call('sessions summary', { session: 'b' });
    expect((summary['node_count'] as number) + (alone['node_count'] as number)).toBe(stats.nodes);
    expect((summary['edge_count'] as number) + (alone['edge_count'] as number)).toBe(stats.edges);
    const waiting = await openHere({ isStarted: false });
    await waiting.post(note('p', 0));
    expect(await waiting.call('sessions summary', { session: 'p' })).toMatchObject({
      node_count: 0,
      deletable: false,
      pending_sessions: ['p'],
    });
    await expect(fixture.call('sessions summary', { session: 'x' })).rejects.toMatchObject({
      code: 'SESSION_UNKNOWN',
    });
  });
});
