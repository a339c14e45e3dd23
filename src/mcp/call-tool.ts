import { isMillraceError } from '#base';
import type { Answer, Asker } from './asker.ts';
import { fitAnswer } from './fit-answer.ts';
import { agentTools, cypherRowsDefault, cypherRowsMax } from './tools.ts';

export interface ToolAnswer {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Runs one tool. What the daemon refuses is an answer that the agent can learn from, with its code; only a defect of the program rejects.
 */
export async function callTool(
  asker: Asker,
  name: string,
  given: Arguments,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if (!agentTools.some((tool) => tool.name === name))
    return refusal(`TOOL_UNKNOWN: there is no tool ${name}`);
  try {
    const fitted = fitAnswer(await ask(asker, name, given, signal));
    const structuredContent = { rows: [...fitted.rows], has_more: fitted.has_more };
    const text = JSON.stringify(structuredContent);
    return { content: [{ type: 'text', text }], structuredContent };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const { line, column } = error.details as { line?: unknown; column?: unknown };
    const place = typeof line === 'number' ? ` (line ${line}, column ${String(column)})` : '';
    return refusal(`${error.code}: ${error.message}${place}`);
  }
}

function ask(asker: Asker, name: string, given: Arguments, signal: AbortSignal): Promise<Answer> {
  if (name !== 'cypher') return asker.query(name, given, signal);
  const { limit = cypherRowsDefault } = given;
  const rows = typeof limit === 'number' ? Math.min(limit, cypherRowsMax) : limit;
  return asker.cypher({ ...given, limit: rows }, signal);
}

function refusal(text: string): ToolAnswer {
  return { content: [{ type: 'text', text }], isError: true };
}
