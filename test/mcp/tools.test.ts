import { InMemoryTransport } from '@modelcontextprotocol/server';
import { Client } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { defineError } from '#base';
import { namedQueries } from '#graph';
import { createMcpServer, type Answer, type Asker } from '#mcp';

const refused = defineError<{ line: number; column: number }>(
  'TEST_REFUSED',
  'reject',
  () => 'not like this',
);

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

interface Asked {
  readonly name: string;
  readonly given: unknown;
}

async function connect(
  answer: (asked: Asked, signal: AbortSignal) => Answer | Promise<Answer>,
): Promise<{ readonly client: Client; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const ask = async (name: string, given: unknown, signal: AbortSignal): Promise<Answer> => {
    asked.push({ name, given });
    return answer({ name, given }, signal);
  };
  const asker: Asker = {
    query: (name, parameters, signal) => ask(name, parameters, signal),
    cypher: (body, signal) => ask('cypher', body, signal),
  };
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer({ asker, version: '0.0.0' });
  const client = new Client({ name: 'test', version: '0.0.0' });
  await server.connect(far);
  await client.connect(near);
  ends.push(() => client.close());
  return { client, asked };
}

const one: Answer = { columns: ['a', 'b'], rows: [[1, null]], has_more: false };

describe('tools for agents', () => {
  it('are every named query and Cypher, with schemas, and none of them writes', async () => {
    const { client } = await connect(() => one);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...namedQueries.map(({ name }) => name),
      'cypher',
    ]);
    for (const { name, annotations, inputSchema, outputSchema, description } of tools) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ required: ['rows', 'has_more'] });
      expect(description?.length).toBeGreaterThan(40);
    }
    const timeline = tools.find(({ name }) => name === 'timeline');
    expect(timeline?.inputSchema.required).toEqual(['session']);
  });

  it('answer rows as objects, the same in text and in structure', async () => {
    const { client, asked } = await connect(() => one);
    const answer = await client.callTool({ name: 'cypher', arguments: { query: 'RETURN 1' } });
    expect(answer.structuredContent).toEqual({ rows: [{ a: 1, b: null }], has_more: false });
    expect(answer.content).toEqual([
      { type: 'text', text: JSON.stringify(answer.structuredContent) },
    ]);
    expect(asked).toEqual([{ name: 'cypher', given: { query: 'RETURN 1', limit: 100 } }]);
  });

  it('ask for no more rows than an agent can read, and leave out what is too long', async () => {
    const long = 'x'.repeat(100_000);
    const { client, asked } = await connect(() => ({
      columns: ['text'],
      rows: Array.from({ length: 5 }, () => [long]),
      has_more: false,
    }));
    const given = { query: 'RETURN 1', limit: 9999 };
    const answer = await client.callTool({ name: 'cypher', arguments: given });
    expect(asked[0]?.given).toMatchObject({ limit: 1000 });
    expect(answer.structuredContent).toMatchObject({ has_more: true });
    expect((answer.structuredContent as { rows: unknown[] }).rows).toHaveLength(2);
  });

  it('tell the agent what was wrong with its question, and go on', async () => {
    const { client } = await connect(({ name }) => {
      if (name === 'cypher') throw refused({ line: 2, column: 7 });
      return { columns: ['workspace'], rows: [], has_more: false };
    });
    const wrong = await client.callTool({ name: 'cypher', arguments: { query: 'x' } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: 'TEST_REFUSED: not like this (line 2, column 7)' }],
    });
    const none = await client.callTool({ name: 'no-such', arguments: {} });
    expect(none).toMatchObject({ isError: true });
    const right = await client.callTool({ name: 'sessions', arguments: {} });
    expect(right.structuredContent).toEqual({ rows: [], has_more: false });
  });

  it('stop asking when the agent gives up', async () => {
    const stopped = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { client } = await connect(
      (_asked, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve();
            reject(refused({ line: 1, column: 1 }));
          });
          begun.resolve();
        }),
    );
    const giveUp = new AbortController();
    const call = client.callTool({ name: 'sessions', arguments: {} }, { signal: giveUp.signal });
    const failed = expect(call).rejects.toThrow();
    await begun.promise;
    giveUp.abort();
    await failed;
    await stopped.promise;
  });
});
