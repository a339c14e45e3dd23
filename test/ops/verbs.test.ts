import { afterEach, describe, expect, it } from 'vitest';
import type { Drain } from '#drain';
import { verbs } from '#ops';
import { note, notes } from '../drain/drain-fixture.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';
import { others, operator, stranger, type OpsFixture, type Row } from './ops-fixture.ts';
import { audits, drainedOn, limitedTo, openings } from './ops-steps.ts';
const here = openings();
const called = new Set<string>(others);
const openHere = here.open;
const drained = async (): Promise<OpsFixture> => drainedOn(await openHere());

afterEach(async () => {
  for (const name of await here.close()) called.add(name);
});

describe('status', () => {
  it('shows balanced books, and nothing degraded while all is well (P4, ING-717)', async () => {
    const { call } = await drained();
    expect(await call('status')).toMatchObject({
      status: 'ok',
      state: 'ready',
      accepted: 10,
      applied: 8,
      pending: 0,
      dead: 2,
      discarded: 0,
      duplicates: 0,
      residual: 0,
      quarantined: 0,
      degraded: [],
      oldest_pending_ms: null,
      store: { graph_id: 'memory-graph' },
      disk: { free_bytes: 10, total_bytes: 20 },
      version: '0.1.0',
      metrics: { accepted_total: 10, written_total: 8, dead_letter_total: 2, degraded: false },
    });
  });

  it('says what is degraded and since when, and how long the oldest record waits', async () => {
    const fixture = await openHere();
    fixture.graph.setUnavailable(true);
    await fixture.post(note('a', 0));
    await fixture.clock.advance(60_000);
    const status = await fixture.call('status');
    expect(status).toMatchObject({ status: 'degraded', pending: 1, oldest_pending_ms: 60_000 });
    expect(status['degraded']).toMatchObject([{ code: 'GRAPH_UNAVAILABLE' }]);
    fixture.graph.setUnavailable(false);
  });

  it('shows strangers counts and states only (ING-948)', async () => {
    const fixture = await openHere({
      context: { degraded: () => [{ code: 'X', message: '/secret/path', since: 's' }] },
    });
    const status = await fixture.call('status', {}, stranger);
    expect(JSON.stringify(status)).not.toMatch(/secret|memory-graph|\/root/);
    expect(status).toMatchObject({ status: 'degraded', accepted: 0, disk: { free_bytes: 10 } });
  });

  it('shows the books though the disk does not answer', async () => {
    const fixture = await openHere({
      context: { disk: () => Promise.reject(new Error('EIO')) },
    });
    expect(await fixture.call('status')).toMatchObject({
      disk: null,
      degraded: [{ code: 'DISK_SILENT' }],
    });
  });

  it('tells versions and limits to anybody (ING-904)', async () => {
    const { call } = await openHere();
    expect(await call('version', {}, stranger)).toMatchObject({
      version: '0.1.0',
      protocol: '1.0.0',
    });
    expect(await call('limits', {}, stranger)).toMatchObject({
      fsync: 'group',
      limits: { 'dedup.retention': 'none' },
    });
  });
});

describe('wait', () => {
  it('answers once nothing is pending', async () => {
    const { call, post } = await openHere();
    await post(...notes('a', 20));
    expect(await call('wait', { until: 'idle' })).toMatchObject({ idle: true });
    expect(await call('status')).toMatchObject({ pending: 0, applied: 20 });
  });

  it('says so where what is pending stands still, instead of calling it done', async () => {
    const status = { mismatchedKeys: 1, workers: {}, waitingKeys: 0, groupsInFlight: 0 };
    const drain = { idle: () => Promise.resolve(), status: () => ({ ...status, trouble: [] }) };
    const fixture = await openHere({
      isStarted: false,
      context: { drain: drain as unknown as Drain },
    });
    await fixture.post(...notes('a', 3));
    expect(await fixture.call('wait')).toMatchObject({
      idle: false,
      halted: { sessions: 1, pending: 3 },
    });
  });

  it('gives up at its time-out with what may pass (D29)', async () => {
    const fixture = await openHere();
    fixture.graph.setUnavailable(true);
    await fixture.post(note('a', 0));
    const waiting = fixture.call('wait', { timeout: 5000 });
    const failed = expect(waiting).rejects.toMatchObject({
      code: 'WAIT_TIMED_OUT',
      disposition: 'retry',
      details: { pending: 1 },
    });
    await fixture.clock.advance(5000);
    await failed;
    fixture.graph.setUnavailable(false);
  });

  it('ends with its caller', async () => {
    const fixture = await openHere();
    fixture.graph.setUnavailable(true);
    await fixture.post(note('a', 0));
    const gone = new AbortController();
    const waiting = fixture.call('wait', {}, { ...operator, signal: gone.signal });
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toMatchObject({ code: 'WAIT_TIMED_OUT' });
    fixture.graph.setUnavailable(false);
  });
});

describe('sessions', () => {
  it('lists in pages, each session once, with its books', async () => {
    const fixture = await drained();
    const seen: Row[] = [];
    let page: Row = {};
    do {
      const token = page['next_page_token'];
      page = await fixture.call('sessions list', {
        limit: 2,
        ...(token === undefined ? {} : { page_token: token }),
      });
      seen.push(...(page['sessions'] as readonly Row[]));
    } while (page['next_page_token'] !== undefined);
    expect(seen.map(({ session_id }) => session_id)).toEqual(['a', 'b', 'c']);
    expect(seen[0]).toMatchObject({
      accepted: 3,
      applied: 2,
      dead: 1,
      residual: 0,
      worker: 'idle',
    });
  });

  it('shows one with its worker and its quarantine', async () => {
    const fixture = await drained();
    await fixture.queue.quarantine(testKey('a'), { code: 'RECORD_CORRUPT', message: 'broken' });
    expect(await fixture.call('sessions show', { session: 'a' })).toMatchObject({
      quarantine: { code: 'RECORD_CORRUPT' },
    });
    const { sessions } = await fixture.call('sessions list', { state: 'quarantined' });
    expect(sessions).toMatchObject([{ session_id: 'a' }]);
  });

  it('asks for the workspace only where an id exists in several (ING-028)', async () => {
    const fixture = await drained();
    await fixture.queue.append([testRecord({ session: 'a', workspace: 'other' })]);
    await expect(fixture.call('sessions show', { session: 'a' })).rejects.toMatchObject({
      code: 'SESSION_AMBIGUOUS',
      details: { workspaces: ['other', 'w'] },
    });
    expect(await fixture.call('sessions show', { session: 'a', workspace: 'other' })).toMatchObject(
      { workspace: 'other' },
    );
    expect(await fixture.call('sessions show', { session: 'a' }, limitedTo('w'))).toMatchObject({
      workspace: 'w',
    });
    await expect(fixture.call('sessions show', { session: 'none' })).rejects.toMatchObject({
      code: 'SESSION_UNKNOWN',
    });
  });

  it('waits until a position is applied, and not for ever', async () => {
    const fixture = await openHere();
    await fixture.post(...notes('a', 3));
    const key = testKey('a');
    const { end } = (await fixture.queue.keyStatus(key)) ?? {};
    const shown = await fixture.call('sessions show', {
      session: 'a',
      wait: 'applied',
      position: String(end),
    });
    expect(shown).toMatchObject({ applied: 3, pending: 0, committed: end });
    const waiting = fixture.call('sessions show', {
      session: 'a',
      wait: 'applied',
      position: 'ffffffff',
      timeout: 1000,
    });
    const failed = expect(waiting).rejects.toMatchObject({ code: 'WAIT_TIMED_OUT' });
    await fixture.clock.advance(1000);
    await failed;
  });

  it('hides what a caller may not use', async () => {
    const fixture = await drained();
    const foreign = limitedTo('another');
    expect(await fixture.call('sessions list', {}, foreign)).toEqual({ sessions: [] });
    await expect(
      fixture.call('sessions show', { session: 'a', workspace: 'w' }, foreign),
    ).rejects.toMatchObject({ code: 'SESSION_UNKNOWN' });
  });
});

describe('graph', () => {
  it('answers digest, stats and export as the store does', async () => {
    const fixture = await drained();
    expect(await fixture.call('graph digest')).toEqual(await fixture.graph.digest());
    expect(await fixture.call('graph stats')).toMatchObject({ labels: { Session: 3 } });
    expect(await fixture.call('graph check')).toMatchObject({ findings: [], placeholder_runs: 0 });
    const { text } = await fixture.call('graph export');
    expect(String(text).split('\n')[0]).toMatch(/^\{"node":/);
  });

  it('asks a named query within the workspaces of the caller, and refuses others', async () => {
    const asked: unknown[] = [];
    const fixture = await openHere();
    const { call } = await openHere({
      context: {
        graph: {
          ...fixture.context.graph,
          async query(name, parameters) {
            asked.push([name, parameters]);
            return { columns: ['n'], rows: [[1]], hasMore: true };
          },
        },
      },
    });
    const input = { name: 'sessions', parameters: { limit: 5 } };
    expect(await call('graph query', input)).toEqual({
      columns: ['n'],
      rows: [[1]],
      has_more: true,
    });
    await call('graph query', { name: 'sessions' }, limitedTo('w', 'v'));
    const named = { name: 'sessions', parameters: { workspace: 'w' } };
    await call('graph query', named, limitedTo('w', 'v'));
    expect(asked).toEqual([
      ['sessions', { limit: 5 }],
      ['sessions', { workspace: ['w', 'v'] }],
      ['sessions', { workspace: ['w'] }],
    ]);
    for (const workspace of ['other', ['w', 'other'], []])
      await expect(
        call('graph query', { name: 'sessions', parameters: { workspace } }, limitedTo('w')),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(call('graph query', { name: 'sessions' }, stranger)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    expect(asked).toHaveLength(3);
  });

  it('tells of the whole graph only to who may use all workspaces', async () => {
    const fixture = await drained();
    for (const name of ['graph digest', 'graph stats', 'graph check', 'graph export'])
      await expect(fixture.call(name, {}, limitedTo('w'))).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
  });
});

describe('dead letters', () => {
  it("answers the predecessor's routes from the same acts (ING-946)", async () => {
    const fixture = await drained();
    const listed = await fixture.call('queues dead-letter');
    expect(listed['dead_letters']).toMatchObject([
      { worker_key: testKey('a'), item_count: 1, last_ts: expect.any(Number) as number },
      { worker_key: testKey('b'), item_count: 1 },
    ]);
    const replayed = await fixture.call('queues dead-letter replay', { worker_key: testKey('a') });
    expect(replayed).toMatchObject({ worker_key: testKey('a'), replayed: 1 });
    const purged = await fixture.call('queues dead-letter purge', { worker_key: 'b' });
    expect(purged).toMatchObject({ worker_key: testKey('b'), purged: 1 });
    await fixture.drained();
    expect(await fixture.call('status')).toMatchObject({ dead: 1, discarded: 1, residual: 0 });
  });
});

const alone = { without_operator: true };

describe('tokens', () => {
  it('makes one whose secret is shown once and never again, not in the audit either (ING-018)', async () => {
    const fixture = await openHere();
    let made: Row = {};
    const told = await audits(async () => {
      made = await fixture.call('tokens add', { name: 'agents', workspaces: ['w'], ...alone });
    });
    const secret = String(made['token']);
    expect(made).toMatchObject({ name: 'agents', scopes: ['ingest:write', 'ingest:read'] });
    expect(secret.length).toBeGreaterThan(20);
    const listed = await fixture.call('tokens list');
    expect(listed['tokens']).toMatchObject([
      { name: 'agents', workspaces: ['w'], expires_at: null },
    ]);
    expect(JSON.stringify([listed, told])).not.toContain(secret);
    expect(told).toMatchObject([{ verb: 'tokens add', outcome: 'done' }]);
  });

  it('refuses a token from its revocation on, and an unknown name', async () => {
    const fixture = await openHere();
    await fixture.call('tokens add', { name: 'agents', ...alone });
    expect(await fixture.call('tokens revoke', { name: 'agents' })).toMatchObject({
      revoked: true,
    });
    expect(await fixture.call('tokens list')).toEqual({ tokens: [] });
    await expect(fixture.call('tokens revoke', { name: 'agents' })).rejects.toMatchObject({
      code: 'TOKEN_UNKNOWN',
    });
  });

  it('lets nobody give itself more workspaces than it has', async () => {
    const fixture = await openHere();
    const limited = limitedTo('w');
    await fixture.call('tokens add', { name: 'all', ...alone });
    await fixture.call('tokens add', { name: 'own', workspaces: ['w'] }, limited);
    for (const workspaces of [undefined, ['w', 'other']])
      await expect(
        fixture.call(
          'tokens add',
          { name: 'more', ...(workspaces === undefined ? {} : { workspaces }) },
          limited,
        ),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(fixture.call('tokens revoke', { name: 'all' }, limited)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    expect(await fixture.call('tokens revoke', { name: 'own' }, limited)).toMatchObject({
      revoked: true,
    });
  });
});
it('shows what an adopt would do, and tells of a backup line by line (ING-542)', async () => {
  const { call } = await openHere();
  expect(await call('graph adopt', { key: 'w~a' })).toMatchObject({ dry_run: true, count: 1 });
  expect((await call('backup create', { path: '/b' }))['text']).toContain('{"done":{"path":"/b"');
});
it('tells what a vacuum gave back', async () => {
  const { call } = await openHere();
  expect(await call('vacuum')).toMatchObject({ freed_bytes: 5, components: [{ name: 'graph' }] });
});
describe('the list of verbs', () => {
  it('has each name and each route once', () => {
    const names = verbs.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const routes = verbs.flatMap(({ http }) =>
      [http, ...(http.aliases ?? [])].map(({ method, path }) => `${method} ${path}`),
    );
    expect(new Set(routes).size).toBe(routes.length);
  });

  it('takes every member of a path from the input', () => {
    for (const { name, http, input } of verbs) {
      const members = [...http.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
      const known = Object.keys((input as { properties?: object }).properties ?? {});
      expect(known, name).toEqual(expect.arrayContaining(members));
    }
  });

  it('lets nobody write or destroy without ops:write', () => {
    const wrong = verbs.filter(({ effect, scope }) => effect !== 'read' && scope !== 'ops:write');
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('had the answer of every verb checked against its schema by the tests above', () => {
    expect(verbs.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([]);
  });
});
