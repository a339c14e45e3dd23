import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createMcpServer, type McpServerNeeds } from './create-mcp-server.ts';

export interface McpStreams {
  readonly input: Readable;
  /** Nothing but the protocol is written to it. */
  readonly output: Writable;
  /** What goes wrong outside of an answer. */
  onTrouble(error: Error): void;
}

/** Serves one client until it closes its end; both handshakes of the protocol, that of 2025 and the present one. */
export async function serveMcp(needs: McpServerNeeds, streams: McpStreams): Promise<void> {
  const { input, output, onTrouble } = streams;
  const ended = once(input, 'close');
  const handle = serveStdio(() => createMcpServer(needs), {
    transport: new StdioServerTransport(input, output),
    onerror: onTrouble,
  });
  await ended;
  await handle.close();
}
