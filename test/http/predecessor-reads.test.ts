import { afterEach, describe, expect, it } from 'vitest';
import { verbs } from '#ops';
import { note } from '../drain/drain-fixture.ts';
import { openOps } from '../ops/ops-fixture.ts';
import { httpBench, type HttpBench, type HttpBenchOptions } from './http-fixture.ts';

const ends: (() => Promise<void>)[] = [];

/** The real verbs over one session with a blob. */
async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const ops = await openOps();
  await ops.post(note('a/b', 0, { tool_call_id: 'c', result: [1, 2] }, 'tool:post'));
  await ops.drained();
  const made = await httpBench({ verbs, context: ops.context, ...options });
  ends.push(
    () => made.close(),
    () => ops.close(),
  );
  return made;
}

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const reader = { name: 'reader', scopes: ['ingest:read'] };

describe('what readers of the predecessor ask (D16)', () => {
  it('answers who they are, and 401 with detail to whoever proves nothing', async () => {
    const { request, header } = await bench();
    const open = await request({ method: 'GET', url: '/whoami' });
    expect(open.json).toMatchObject({ id: 'local', authenticated: false });
    const headers = await header(reader);
    const known = await request({ method: 'GET', url: '/whoami', headers });
    expect(known.json).toMatchObject({ id: 'reader', rights: { read: true, write: false } });
    for (const authorization of [undefined, 'Bearer none']) {
      const refused = await request({
        method: 'GET',
        url: '/whoami',
        ...(authorization === undefined ? {} : { headers: { authorization } }),
      });
      expect(refused.status).toBe(401);
      expect(refused.json['detail']).toMatch(/bearer token/);
    }
  });

  it('lists blobs and reads one by the path that the list names', async () => {
    const { request } = await bench();
    const list = await request({ method: 'GET', url: `/blobs/${encodeURIComponent('a/b')}` });
    expect(list.json).toMatchObject({ session_id: 'a/b' });
    const [uri = ''] = list.json['blobs'] as readonly string[];
    expect(uri).toMatch(/^ci-blob:\/\/a\/b\/a\/b__tool_post__.*__result$/);
    const key = uri.slice('ci-blob://a/b/'.length);
    const path = `/blobs/${encodeURIComponent('a/b')}/${encodeURIComponent(key)}`;
    const blob = await request({ method: 'GET', url: path });
    expect([blob.status, blob.text]).toEqual([200, '[1,2]']);
    const missing = await request({ method: 'GET', url: '/blobs/x/k__result' });
    expect(missing.status).toBe(404);
    expect(missing.json['detail']).toBe('Blob not found: ci-blob://x/k__result');
  });

  it('sums up a session, by its path of old and by ours', async () => {
    const { request } = await bench();
    for (const prefix of ['/sessions', '/v1/sessions']) {
      const url = `${prefix}/${encodeURIComponent('a/b')}/summary`;
      const summary = await request({ method: 'GET', url });
      expect(summary.json).toMatchObject({ root_id: 'a/b', node_count: 3, blob_count: 1 });
    }
    const missing = await request({ method: 'GET', url: '/sessions/none/summary' });
    expect([missing.status, missing.json.error?.code]).toEqual([404, 'SESSION_UNKNOWN']);
  });
});

describe('routes for readers of the graph', () => {
  it('are closed to a token without ingest:read', async () => {
    const { request, header } = await bench();
    const headers = await header({ name: 'writer', scopes: ['ingest:write'] });
    for (const url of [
      '/v1/queries',
      '/v1/queries/timeline',
      '/v1/graph/neighbours?workspace=w&node=a',
      '/v1/sessions/a/summary',
      '/blobs/a',
      '/blobs/a/k__raw',
      `/v1/objects/${'0'.repeat(64)}`,
    ])
      expect((await request({ method: 'GET', url, headers })).status, url).toBe(403);
  });

  it('take their input from the query and refuse what they do not know', async () => {
    const { request } = await bench();
    const get = (url: string): ReturnType<HttpBench['request']> => request({ method: 'GET', url });
    const page = await get(
      `/v1/graph/neighbours?workspace=w&node=${encodeURIComponent('a/b')}&type=HAS_EVENT&limit=5`,
    );
    expect(page.json).toMatchObject({ edges: [{ from: 'a/b', type: 'HAS_EVENT' }] });
    expect((await get('/v1/graph/neighbours?node=a')).status).toBe(422);
    expect((await get('/v1/sessions?order=size')).status).toBe(422);
    expect((await get('/v1/sessions?search=A%2FB&state=ended')).json).toMatchObject({
      sessions: [],
    });
    expect((await get('/v1/sessions?search=A%2FB')).json).toMatchObject({
      sessions: [{ session_id: 'a/b' }],
    });
    expect((await get(`/v1/objects/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await get('/v1/objects/no')).status).toBe(422);
  });
});
