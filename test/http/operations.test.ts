import { Type } from 'typebox';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { openControlDatabase } from '#control';
import { createOperations, defineVerb, type OpsContext, type Verb } from '#ops';
import { seededChance } from '../support/chance.ts';
import { httpBench, type HttpBench } from './http-fixture.ts';

const opened: HttpBench[] = [];
let runs = 0;

const countVerb: Verb = defineVerb({
  name: 'count up',
  summary: 'counts its runs',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object({ name: Type.String(), by: Type.Optional(Type.Integer()) }),
  output: Type.Object({ runs: Type.Integer() }),
  http: { method: 'POST', path: '/v1/count/{name}', status: 202 },
  run() {
    runs += 1;
    return Promise.resolve({ runs });
  },
});

async function bench(): Promise<HttpBench> {
  runs = 0;
  const control = openControlDatabase(':memory:', { clock: systemClock });
  const chance = seededChance(3);
  const operations = createOperations({ rows: control.operations, clock: systemClock, chance });
  const context = { operations } as OpsContext;
  const made = await httpBench({ verbs: [countVerb], context });
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

describe('Idempotency-Key on routes that change something (ING-014)', () => {
  it('answers a repeated request with its first answer, and says so', async () => {
    const { request } = await bench();
    const sent = { url: '/v1/count/a', body: '{"by":1}', headers: { 'idempotency-key': 'k 1' } };
    const first = await request(sent);
    expect(first.status).toBe(202);
    expect(first.json).toEqual({ runs: 1, operation_id: expect.any(String) as string });
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    const again = await request({ ...sent, body: ' { "by" : 1 }' });
    expect([again.status, again.json]).toEqual([202, first.json]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  it('answers 409 to another body or path under the key, and runs nothing', async () => {
    const { request } = await bench();
    const headers = { 'idempotency-key': 'k' };
    await request({ url: '/v1/count/a', body: '{"by":1}', headers });
    for (const [url, body] of [
      ['/v1/count/a', '{"by":2}'],
      ['/v1/count/b', '{"by":1}'],
    ] as const) {
      const refused = await request({ url, body, headers });
      expect(refused.status).toBe(409);
      expect(refused.json.error?.code).toBe('IDEMPOTENCY_CONFLICT');
    }
    expect(runs).toBe(1);
  });

  it.each(['', ' ', 'ü', 'k'.repeat(256)])('refuses the key %j', async (key) => {
    const { request } = await bench();
    const headers = { 'idempotency-key': key };
    const refused = await request({ url: '/v1/count/a', body: '{}', headers });
    expect(refused.status).toBe(422);
    expect(refused.json.error).toMatchObject({ details: { member: 'Idempotency-Key' } });
    expect(runs).toBe(0);
  });
});
