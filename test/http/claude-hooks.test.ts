import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { httpBench, type HttpBench, type HttpBenchOptions } from './http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const made = await httpBench(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const url = '/v1/hooks/claude-code';
const headers = { 'content-type': 'application/json' };
const payload = {
  session_id: 's',
  transcript_path: '/h/.claude/projects/-h-demo/s.jsonl',
  cwd: '/h/demo',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_use_id: 't1',
  tool_input: { command: 'ls' },
};

describe('POST /v1/hooks/claude-code', () => {
  it('answers 204 with nothing in it, for every hook that is known and for one that is not', async () => {
    const { request } = await bench();
    const file = join(
      import.meta.dirname,
      '../data/claude-hooks/made-hooks-official-shape-one-session.ndjson',
    );
    const payloads = readFileSync(file, 'utf8').trimEnd().split('\n');
    const future = JSON.stringify({ ...payload, hook_event_name: 'SomethingNew' });
    for (const body of [...payloads, future]) {
      const answer = await request({ url, headers, body });
      expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
        204,
        '',
        undefined,
      ]);
    }
  });

  it('stores what a repeat would add once, in the workspace of the transcript’s folder', async () => {
    const { request, stored } = await bench();
    const body = JSON.stringify(payload);
    await request({ url, headers, body });
    await request({ url, headers, body });
    expect(await stored()).toHaveLength(1);
    const named = await request({ url: `${url}?workspace=team`, headers, body });
    expect(named.status).toBe(204);
    expect(await stored()).toHaveLength(2);
  });

  it('keeps scopes and workspaces: a token that may use one workspace writes to it', async () => {
    const made = await bench({ firstToken: { name: 'ops', scopes: ['ops:write'] } });
    const body = JSON.stringify(payload);
    expect((await made.request({ url, headers, body })).status).toBe(401);
    const reader = await made.header({ name: 'reader', scopes: ['ingest:read'] });
    expect((await made.request({ url, headers: { ...headers, ...reader }, body })).status).toBe(
      403,
    );
    const writer = await made.header({ name: 'w', scopes: ['ingest:write'], workspaces: ['team'] });
    expect((await made.request({ url, headers: { ...headers, ...writer }, body })).status).toBe(
      204,
    );
    const elsewhere = await made.request({
      url: `${url}?workspace=other`,
      headers: { ...headers, ...writer },
      body,
    });
    expect([elsewhere.status, elsewhere.json.error?.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('refuses what is no hook with the reason, and nothing of it is stored', async () => {
    const { request, stored } = await bench();
    const wrong: readonly (readonly [string, number, string])[] = [
      ['', 400, 'RECORD_NOT_JSON'],
      ['{"hook_event_name"', 400, 'RECORD_NOT_JSON'],
      ['[]', 422, 'EVENT_INVALID'],
      ['{"session_id":"s"}', 422, 'EVENT_INVALID'],
    ];
    for (const [body, status, code] of wrong) {
      const answer = await request({ url, headers, body });
      expect([body, answer.status, answer.json.error?.code]).toEqual([body, status, code]);
    }
    const xml = await request({ url, headers: { 'content-type': 'text/xml' }, body: '<a/>' });
    expect(xml.status).toBe(415);
    expect(await stored()).toEqual([]);
  });
});
