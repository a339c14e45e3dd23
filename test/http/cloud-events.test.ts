import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { httpBench, type HttpBench, type TestAnswer } from './http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(): Promise<HttpBench> {
  const made = await httpBench();
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const structured = { 'content-type': 'application/cloudevents+json' };
const batch = { 'content-type': 'application/cloudevents-batch+json' };
const event = {
  specversion: '1.0',
  id: 'e1',
  source: '/agents/demo',
  type: 'demo:made',
  time: '2026-08-20T10:00:00.123456789Z',
  data: { session_id: 's', n: 1 },
};

function post(
  made: HttpBench,
  body: unknown,
  headers: Record<string, string> = structured,
): Promise<TestAnswer> {
  return made.request({ headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
}

describe('CloudEvents 1.0 on POST /v1/events', () => {
  it('are taken or refused as each case of the binding expects', async () => {
    const file = readFileSync(
      join(import.meta.dirname, '../data/cloudevents/made-cloudevents-http-cases.ndjson'),
      'utf8',
    );
    for (const line of file.trimEnd().split('\n')) {
      const told = JSON.parse(line) as {
        case: string;
        headers: Record<string, string>;
        body: string;
        expect: string;
      };
      const made = await bench();
      const headers = Object.fromEntries(
        Object.entries(told.headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const answer = await post(made, told.body, headers);
      const count =
        /(\d) events/.exec(told.expect)?.[1] ?? (told.expect.startsWith('valid') ? '1' : '0');
      expect([told.case, answer.status]).toEqual([
        told.case,
        told.expect === 'invalid' ? 422 : 202,
      ]);
      expect([told.case, (await made.stored()).length]).toEqual([told.case, Number(count)]);
    }
  });

  it('have source and id as their id: a repeat is known, other content a conflict (D11)', async () => {
    const made = await bench();
    expect((await post(made, event)).json).toMatchObject({
      status: 'queued',
      session_id: 's',
      workspace: 'cloudevents',
    });
    const again = await post(made, event);
    expect([again.status, again.json['status']]).toEqual([200, 'duplicate']);
    expect((await post(made, { ...event, data: { session_id: 's', n: 2 } })).status).toBe(409);
    expect((await post(made, { ...event, source: '/agents/other' })).status).toBe(202);
    const { time: _time, ...untimed } = { ...event, id: 'e2' };
    expect((await post(made, untimed)).status).toBe(202);
    expect((await post(made, untimed)).json['status']).toBe('duplicate');
  });

  it('in binary mode have percent-encoded headers, and data of any type', async () => {
    const made = await bench();
    const headers = {
      'ce-specversion': '1.0',
      'ce-id': 'b1',
      'ce-source': '/agents/demo',
      'ce-type': 'demo:made',
      'ce-sessionid': '"Euro%20%E2%82%AC"',
      'ce-workspace': 'team',
    };
    expect(
      (await post(made, '{"a":1}', { ...headers, 'content-type': 'application/json' })).json,
    ).toMatchObject({ session_id: 'Euro €', workspace: 'team' });
    await post(made, 'plain', { ...headers, 'ce-id': 'b2', 'content-type': 'text/plain' });
    await post(made, '\u0001\u0002', {
      ...headers,
      'ce-id': 'b3',
      'content-type': 'application/octet-stream',
    });
    const data = (await made.stored()).map((line) => line['data'] as Record<string, unknown>);
    expect(data.map(({ a, value, data_base64 }) => a ?? value ?? data_base64)).toEqual([
      1,
      'plain',
      'AQI=',
    ]);
    const overlong = await post(made, '{}', { ...headers, 'ce-subject': '%C0%A0' });
    expect([overlong.status, overlong.json.error?.code]).toEqual([400, 'RECORD_NOT_JSON']);
  });

  it('of a batch are judged one by one, in their order', async () => {
    const made = await bench();
    const { id: _id, ...nameless } = event;
    const answer = await post(made, [nameless, event, 7, { ...event, id: 'e3' }], batch);
    expect(answer.status).toBe(207);
    expect(answer.json.results?.map(({ index, status }) => [index, status])).toEqual([
      [0, 'rejected'],
      [1, 'queued'],
      [2, 'rejected'],
      [3, 'queued'],
    ]);
    expect((await post(made, '[]', batch)).json.results).toEqual([]);
    expect((await post(made, '{}', batch)).status).toBe(422);
  });

  it('in another format than JSON are refused with 415, and what is no JSON with 400', async () => {
    const made = await bench();
    expect((await post(made, 'x', { 'content-type': 'application/cloudevents+avro' })).status).toBe(
      415,
    );
    expect((await post(made, '{', structured)).status).toBe(400);
    const both = await post(made, { ...event, data_base64: 'AA==' });
    expect(both.json.error?.message).toContain('exclude each other');
  });

  it('are asked for by the webhook handshake, which grants every origin and leaves admission to tokens', async () => {
    const made = await bench();
    const ask = (headers: Record<string, string>): Promise<TestAnswer> =>
      made.request({ method: 'OPTIONS', headers });
    const granted = await ask({
      'webhook-request-origin': 'eventemitter.example.com',
      'webhook-request-rate': '120',
      'webhook-request-callback': 'http://127.0.0.1:1/never-called',
    });
    expect([granted.status, granted.text]).toEqual([200, '']);
    expect(granted.headers['webhook-allowed-origin']).toBe('eventemitter.example.com');
    expect(granted.headers['webhook-allowed-rate']).toBe('*');
    for (const headers of [{}, { 'webhook-request-origin': 'a b' }]) {
      const plain = await ask(headers);
      expect([plain.status, plain.headers['allow']]).toEqual([204, 'POST, OPTIONS']);
      expect(plain.headers['webhook-allowed-origin']).toBeUndefined();
    }
  });
});
