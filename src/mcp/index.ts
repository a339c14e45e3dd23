/**
 * mcp: the door for agents that ask.
 *
 * Lives here: named queries and read-only Cypher as tools of the Model Context Protocol, and the server that speaks it over a pair of streams.
 * Not here: how the daemon is reached, and what a query means; whoever opens the door hands in an asker.
 * Promises: none of its own; nothing that is offered here can write.
 * May call: base, graph. Called by: cli.
 */
export { createMcpServer, type McpServerNeeds } from './create-mcp-server.ts';
export { serveMcp } from './serve-mcp.ts';
export type { Asker, Answer } from './asker.ts';
