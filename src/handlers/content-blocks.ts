import { isJsonObject, type JsonValue } from '#base';
import { readEntry, withEntry, type Cursor } from '#record';
import { mapKey, ownedNodeId } from './node-id.ts';
import type { Draft, Family, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sourcedFrom, textOf } from './occurrence.ts';
import { placeholderDrafts, resolveRun } from './resolve-run.ts';

/** Blocks that may be open at once, and calls that may wait for their `tool:pre`. */
const openBlocksMax = 256;
const pendingMax = 1024;
/** Types of the block that asks for a tool call. */
const toolBlockTypes: ReadonlySet<unknown> = new Set(['tool_call', 'tool_use']);

/** `content_block:start`: a block of the active iteration. One without an index takes the next of its iteration (G11). */
export const foldBlockStart: Family = (cursor, occurrence) => {
  const scope = scopeOf(cursor);
  const given = indexOf(occurrence.data['block_index']);
  const next = readEntry(cursor.layer2.block_seq, scope) ?? 0;
  const index = given ?? String(next);
  const open = cursor.layer2.open_blocks.filter((other) => other !== index);
  const after: Cursor = {
    ...cursor,
    layer2: {
      ...cursor.layer2,
      block_seq: { [scope]: [occurrence.seq, Math.max(next, counted(index) + 1)] },
      open_blocks: [...open, index].slice(-openBlocksMax),
    },
  };
  const drafts = blockDrafts(cursor, occurrence, { scope, index, time: 'started_at' });
  return { cursor: after, drafts };
};

/** `content_block:end`: the block it names, else the one that is open, else a new one whose start was lost. */
export const foldBlockEnd: Family = (cursor, occurrence) => {
  const scope = scopeOf(cursor);
  const { layer2 } = cursor;
  const given = indexOf(occurrence.data['block_index']);
  const next = readEntry(layer2.block_seq, scope) ?? 0;
  const index = given ?? layer2.open_blocks.at(-1) ?? String(next);
  const block = occurrence.data['block'];
  const type = isJsonObject(block) ? block['type'] : undefined;
  const callId = isJsonObject(block) ? textOf(block['id']) : undefined;
  const pending =
    toolBlockTypes.has(type) && callId !== undefined
      ? withEntry(
          layer2.pending_tool_blocks,
          mapKey(callId),
          [occurrence.seq, blockId(occurrence, scope, index)],
          pendingMax,
        )
      : layer2.pending_tool_blocks;
  const after: Cursor = {
    ...cursor,
    layer2: {
      ...layer2,
      block_seq: { [scope]: [occurrence.seq, Math.max(next, counted(index) + 1)] },
      open_blocks: layer2.open_blocks.filter((other) => other !== index),
      pending_tool_blocks: pending,
    },
  };
  const drafts = blockDrafts(cursor, occurrence, { scope, index, time: 'ended_at', type });
  return { cursor: after, drafts };
};

interface BlockPart {
  readonly scope: string;
  readonly index: string;
  readonly time: 'started_at' | 'ended_at';
  readonly type?: JsonValue | undefined;
}

/** The node and its one owner: the iteration, or without one the run (ING-606). */
function blockDrafts(cursor: Cursor, occurrence: Occurrence, part: BlockPart): readonly Draft[] {
  const id = blockId(occurrence, part.scope, part.index);
  const { active_iteration_id: iteration } = cursor.layer2;
  const run = iteration === null ? resolveRun(cursor, occurrence) : undefined;
  const owner =
    run === undefined
      ? end(occurrence, 'iteration', iteration ?? '')
      : end(occurrence, 'run', run.runId);
  return [
    ...(run === undefined ? [] : placeholderDrafts(occurrence, run)),
    {
      kind: 'draft',
      id,
      labels: kinds.block,
      times: { [part.time]: occurrence.at.canonical },
      values: {
        session_id: occurrence.session,
        block_index: Number.isSafeInteger(Number(part.index)) ? Number(part.index) : part.index,
        block_type: part.type,
      },
    },
    edge(owner, 'HAS_PART', end(occurrence, 'block', id), 'CONTAINS'),
    sourcedFrom(occurrence, 'block', id),
  ];
}

function blockId(occurrence: Occurrence, scope: string, index: string): string {
  return ownedNodeId(occurrence.sessionNode, 'block', scope, index);
}

/** Number of the active iteration, or `0` outside of any. */
function scopeOf(cursor: Cursor): string {
  return cursor.layer2.active_iteration_id === null ? '0' : String(cursor.layer2.iteration_count);
}

function indexOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? mapKey(value) : undefined;
}

function counted(index: string): number {
  const number = Number(index);
  return Number.isSafeInteger(number) && number >= 0 ? number : -1;
}
