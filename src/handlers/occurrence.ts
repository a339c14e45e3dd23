import type { JsonObject, JsonValue } from '#base';
import { assert } from '#base';
import type { EdgeEnd, EdgeMutation, Mutation } from '#graph';
import {
  parseTimestamp,
  sessionNodeId,
  type Cursor,
  type LogRecord,
  type Timestamp,
} from '#record';
import { eventNodeId, timeText } from './node-id.ts';

/** One record as the families see it: parsed once, before the first of them. */
export interface Occurrence {
  readonly record: LogRecord;
  readonly event: string;
  readonly data: JsonObject;
  /** Session id as the client named it: the owner of every node of this record. */
  readonly session: string;
  readonly sessionNode: string;
  readonly eventNode: string;
  readonly at: Timestamp;
  /** `data.timestamp` as it stands in ids of runs, prompts and the like. */
  readonly atText: string;
  /** Count of applied events, this one included; the first has 1. */
  readonly seq: number;
}

/** What a family wants on a node, before values are made storable and large ones are moved away. */
export interface NodeDraft {
  readonly kind: 'draft';
  readonly id: string;
  readonly labels: readonly string[];
  /** Instants, in canonical form. */
  readonly times?: Readonly<Record<string, string | undefined>>;
  /** Client's values; null and undefined are left out. */
  readonly values?: Readonly<Record<string, JsonValue | undefined>>;
}

/** What a stream tells of another session's delegation: becomes a fact, since only the owner writes the node (ING-615). */
export interface DelegationNews {
  readonly kind: 'delegation-news';
  /** Session id of the delegation's owner. */
  readonly about: string;
  readonly source: string;
  readonly phase: 'spawn' | 'lifecycle';
  readonly node: NodeDraft;
  readonly occurredAt: string;
}

export type Draft = NodeDraft | DelegationNews | Mutation;

/** What one family makes of an occurrence. */
export interface Outcome {
  readonly cursor: Cursor;
  readonly drafts: readonly Draft[];
}

/** A pure fold of one event family. */
export type Family = (cursor: Cursor, occurrence: Occurrence) => Outcome;

export function toOccurrence(record: LogRecord, cursor: Cursor): Occurrence {
  const { timestamp } = record.data;
  const at = typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined;
  assert(at !== undefined && typeof timestamp === 'string', 'admission checked data.timestamp');
  const sessionNode = sessionNodeId(record.session);
  const seq = cursor.layer1.event_seq + 1;
  return {
    record,
    event: record.event,
    data: record.data,
    session: record.session,
    sessionNode,
    eventNode: eventNodeId(sessionNode, record.event, at, { id: record.id, seq }),
    at,
    atText: timeText(timestamp, at),
    seq,
  };
}

/** Labels of each kind of node, which a stub of it has too. */
export const kinds = {
  session: ['Session'],
  event: ['Event'],
  mountPlan: ['MountPlan', 'SST_THING'],
  run: ['OrchestratorRun', 'SST_EVENT'],
  orchestrator: ['Orchestrator', 'SST_CONCEPT'],
  iteration: ['Iteration', 'SST_EVENT'],
  block: ['ContentBlock', 'SST_EVENT'],
  toolCall: ['ToolCall', 'SST_EVENT'],
  prompt: ['Prompt', 'SST_EVENT'],
  cancellation: ['Cancellation', 'SST_EVENT'],
  compaction: ['ContextCompaction', 'SST_EVENT'],
  delegation: ['Delegation', 'SST_EVENT'],
  skillLoad: ['SkillLoad', 'SST_EVENT'],
  recipeRun: ['RecipeRun', 'SST_EVENT'],
  recipeStep: ['RecipeStep', 'SST_EVENT'],
  recipe: ['Recipe', 'SST_CONCEPT'],
} as const;

export type Kind = keyof typeof kinds;

export type Semantic = 'CONTAINS' | 'LEADS_TO' | 'EXPRESSES' | 'NEAR';

/** A node of the occurrence's own session as the end of an edge. */
export function end(occurrence: Occurrence, kind: Kind, id: string): EdgeEnd {
  return { id, owner: occurrence.session, labels: kinds[kind] };
}

export function sessionEnd(occurrence: Occurrence): EdgeEnd {
  return end(occurrence, 'session', occurrence.sessionNode);
}

export function edge(from: EdgeEnd, type: string, to: EdgeEnd, semantic?: Semantic): EdgeMutation {
  const properties = semantic === undefined ? {} : { sst_semantic: semantic };
  return { kind: 'edge', from, type, to, properties };
}

/** From a node of the structure to the event that it was built from; the Event that exists, never a placeholder (G3). */
export function sourcedFrom(occurrence: Occurrence, kind: Kind, id: string): EdgeMutation {
  return edge(
    end(occurrence, kind, id),
    'SOURCED_FROM',
    end(occurrence, 'event', occurrence.eventNode),
  );
}

/** A text member that is not empty. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
