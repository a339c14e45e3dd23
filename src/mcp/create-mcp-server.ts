import { Server } from '@modelcontextprotocol/server';
import type { Asker } from './asker.ts';
import { callTool } from './call-tool.ts';
import { agentTools } from './tools.ts';

export interface McpServerNeeds {
  readonly asker: Asker;
  /** Version of the product. */
  readonly version: string;
}

const instructions =
  'What agents did, as a graph: sessions, runs, iterations, tool calls, prompts, delegations, files and errors. Nothing can be written. Start with ' +
  '"sessions"; "session-tree" and "timeline" tell one session; "cypher" answers what the named tools do not. Times are RFC 3339 UTC.';

/** A server of tools, not connected yet. The low-level one, since our schemas are JSON Schema already. */
export function createMcpServer({ asker, version }: McpServerNeeds): Server {
  const server = new Server(
    { name: 'millrace', title: 'millrace', version },
    { capabilities: { tools: {} }, instructions },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: agentTools.map((tool) => ({ ...tool })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { name, arguments: given = {} } = params;
    return { ...(await callTool(asker, name, given, mcpReq.signal)) };
  });
  return server;
}
