import type { JsonObject, JsonValue } from '#base';
import { listOf, objectOf, textOf } from '../event-draft.ts';

/** A row of a transcript with what every part of the translation asks for. */
export interface ClaudeRow {
  readonly object: JsonObject;
  /** As it stood in the file. */
  readonly text: string;
  readonly type: string;
  /** Undefined for a row without one, and for the placeholders of redactors. */
  readonly uuid: string | undefined;
  readonly parent: string | undefined;
  readonly session: string | undefined;
  readonly agentId: string | undefined;
  readonly isSidechain: boolean;
  /** Of a printed row of a sub-agent: the call that started it. */
  readonly parentCall: string | undefined;
  readonly promptId: string | undefined;
  readonly message: JsonObject;
  readonly blocks: readonly JsonObject[];
}

const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export function readRow(object: JsonObject, text: string): ClaudeRow {
  const given = object['message'];
  const message = objectOf(given) ?? { content: given ?? null };
  return {
    object,
    text,
    type: textOf(object['type']) ?? 'unknown',
    uuid: uuidIn(object['uuid']),
    parent: textOf(object['parentUuid']),
    session: sessionOfRow(object),
    agentId: textOf(object['agentId']),
    isSidechain: object['isSidechain'] === true,
    parentCall: textOf(object['parent_tool_use_id']),
    promptId: uuidIn(object['promptId']) ?? nameIn(object['promptId']),
    message,
    blocks: blocksOf(message['content']),
  };
}

/** The main session, which rows of sub-agents name too. */
export function sessionOfRow(object: JsonObject): string | undefined {
  return textOf(object['sessionId']) ?? textOf(object['session_id']);
}

/** The main session by the place of its files: `SESSION.jsonl`, `SESSION/subagents/…`. */
export function sessionOfPath(path: string | undefined): string | undefined {
  const named =
    /(?:^|[/\\])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:\.jsonl?$|[/\\]subagents[/\\])/i;
  return named.exec(path ?? '')?.[1];
}

/** The text of a message as a person reads it; images and documents have none. */
export function messageText(blocks: readonly JsonObject[]): string {
  return blocks
    .filter(({ type }) => type === 'text')
    .map((block) => textOf(block['text']) ?? '')
    .join('\n\n');
}

function blocksOf(content: JsonValue | undefined): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listOf(content)
    .map(objectOf)
    .filter((block) => block !== undefined);
}

function uuidIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && uuidForm.test(value) ? value : undefined;
}

/** Ids that are no UUID are taken where they look like one word. */
export function nameIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined;
}
