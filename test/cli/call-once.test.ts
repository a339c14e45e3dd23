import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { callOnce } from '../../src/cli/verbs/call-once.ts';
import { createClient } from '../../src/cli/client.ts';

const tools = { clock: { ...systemClock, sleep: () => Promise.resolve() }, chance: systemChance };
const act = { method: 'POST', path: '/v1/act', effect: 'write' } as const;
let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A daemon whose first connections break when the request has come; tells the keys that it saw. */
async function breaking(count: number): Promise<{ url: string; keys: (string | undefined)[] }> {
  const keys: (string | undefined)[] = [];
  server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined);
    if (keys.length <= count) request.socket.destroy();
    else response.end('{"done":true}');
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, keys };
}

describe('an act over a connection that breaks (ING-014)', () => {
  it('is sent again under the same key', async () => {
    const { url, keys } = await breaking(2);
    const client = createClient({ url });
    expect(await callOnce(client, act, {}, undefined, tools)).toEqual({ done: true });
    expect(keys).toHaveLength(3);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it('takes the key of the caller, and gives up after some tries', async () => {
    const { url, keys } = await breaking(9);
    const call = callOnce(createClient({ url }), act, {}, 'mine', tools);
    await expect(call).rejects.toMatchObject({ code: 'DAEMON_UNREACHABLE' });
    expect(keys).toEqual(['mine', 'mine', 'mine']);
  });

  it('is not sent again when nobody listens, and a read carries no key', async () => {
    const { url, keys } = await breaking(0);
    await callOnce(createClient({ url }), { ...act, effect: 'read' }, {}, undefined, tools);
    expect(keys).toEqual([undefined]);
    server?.close();
    let slept = 0;
    const counting = {
      ...tools,
      clock: { ...systemClock, sleep: () => Promise.resolve(void (slept += 1)) },
    };
    server?.closeAllConnections();
    const call = callOnce(createClient({ url }), act, {}, undefined, counting);
    await expect(call).rejects.toMatchObject({ code: 'DAEMON_UNREACHABLE' });
    expect(slept).toBe(0);
  });
});
