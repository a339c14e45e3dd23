import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

function eventOf(session: string, at: number, event: string, data: object = {}): object {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 9, 0, at)).toISOString();
  return {
    event,
    workspace: 'w',
    event_id: `${session}-${at}`,
    data: { session_id: session, timestamp, ...data },
  };
}

it('serves an agent over standard input and output, with the client of the protocol itself', () =>
  withTemporaryDirectory(async (folder) => {
    const daemon = await startDaemon({ root: `${folder}/root` });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', '--url', daemon.url],
      stderr: 'pipe',
    });
    const client = new Client({ name: 'agent', version: '1.0.0' });
    try {
      const events = [
        eventOf('s1', 0, 'session:start'),
        eventOf('s1', 1, 'tool:pre', { tool_name: 'bash', tool_call_id: 'c' }),
        eventOf('s1', 2, 'tool:error', { tool_name: 'bash', tool_call_id: 'c', error: 'no' }),
      ];
      const posted = await fetch(`${daemon.url}/v1/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(events),
      });
      expect(posted.status).toBe(202);
      await waitUntilIdle(daemon.url);
      await client.connect(transport);
      expect(client.getServerVersion()?.name).toBe('millrace');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('timeline');
      const named = await client.callTool({ name: 'timeline', arguments: { session: 's1' } });
      expect(named.structuredContent).toMatchObject({
        rows: [{ event: 'session:start' }, { event: 'tool:pre', tool: 'bash' }, {}],
        has_more: false,
      });
      const query = 'MATCH (t:ToolCall {tool_name: $name}) RETURN t.result_success AS ok';
      const cypher = await client.callTool({
        name: 'cypher',
        arguments: { query, parameters: { name: 'bash' } },
      });
      expect(cypher.structuredContent).toEqual({ rows: [{ ok: false }], has_more: false });
      const written = await client.callTool({ name: 'cypher', arguments: { query: 'CREATE (n)' } });
      expect(written).toMatchObject({ isError: true });
      expect(JSON.stringify(written.content)).toContain('CYPHER_UNSUPPORTED');
      // The daemon goes away and the agent is told so; the door stays open.
      await daemon.kill();
      const gone = await client.callTool({ name: 'sessions', arguments: {} });
      expect(gone).toMatchObject({ isError: true });
      expect(JSON.stringify(gone.content)).toContain('DAEMON_UNREACHABLE');
    } finally {
      await client.close();
      await daemon.kill();
    }
  }));
