import { idPart } from '../event-draft.ts';

/**
 * Ids of the events of a Claude Code session, made of what its hooks and its transcript both know, so that both doors together store an event
 * once (D21). They are looked up within the session.
 */
export const claudeIds = {
  start: 'cc:start',
  prompt: (name: string): string => `cc:prompt:${idPart(name)}`,
  run: (name: string): string => `cc:run:${idPart(name)}`,
  runEnd: (name: string): string => `cc:run-end:${idPart(name)}`,
  complete: (name: string): string => `cc:complete:${idPart(name)}`,
  cancel: (name: string): string => `cc:cancel:${idPart(name)}`,
  toolPre: (call: string): string => `cc:pre:${idPart(call)}`,
  /** Result and error of a call are one thing: hooks and files do not always agree which it was. */
  toolPost: (call: string): string => `cc:post:${idPart(call)}`,
  spawn: (call: string): string => `cc:spawn:${idPart(call)}`,
  spawnEnd: (call: string): string => `cc:spawn-end:${idPart(call)}`,
} as const;

/** The session of a sub-agent: hooks and its own file both name the agent's id. */
export function agentSession(session: string, agentId: string): string {
  return `${session}-agent-${idPart(agentId)}`;
}

/** Names under which the client starts a sub-agent. */
export const agentTools: ReadonlySet<string> = new Set(['Task', 'Agent']);

export const orchestratorName = 'claude-code';
export const providerName = 'anthropic';
