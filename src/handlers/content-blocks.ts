import { isJsonObject, type JsonValue } from '#base';
import type { EdgeEnd } from '#graph';
import { readEntry, withEntry, type Cursor, type CursorLayer2, type CursorMap } from '#record';
import { mapKey, ownedNodeId } from './node-id.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sourcedFrom, textOf } from './occurrence.ts';
import { placeholderDrafts, resolveRun } from './resolve-run.ts';

/** Blocks that may be open at once, and calls that may wait for their `tool:pre`. */
const openBlocksMax = 256;
const pendingMax = 256;
/** Types of the block that asks for a tool call. */
const toolBlockTypes: ReadonlySet<unknown> = new Set(['tool_call', 'tool_use']);

/** `content_block:start`: a block of the active iteration. One without an index takes the next of its iteration (G11). */
export const foldBlockStart: Family = (cursor, occurrence) => {
  const place = placeOf(cursor, occurrence);
  const next = nextIndex(cursor, place);
  const index = indexOf(occurrence.data['block_index']) ?? String(next);
  const open = cursor.layer2.open_blocks.filter((other) => other !== index);
  return {
    cursor: counting(cursor, occurrence, place, index, {
      open_blocks: [...open, index].slice(-openBlocksMax),
    }),
    drafts: blockDrafts(occurrence, place, index, {
      times: { started_at: occurrence.at.canonical },
    }),
  };
};

/** `content_block:end`: the block it names, else the one that is open, else a new one whose start was lost. */
export const foldBlockEnd: Family = (cursor, occurrence) => {
  const place = placeOf(cursor, occurrence);
  const { layer2 } = cursor;
  const index =
    indexOf(occurrence.data['block_index']) ??
    layer2.open_blocks.at(-1) ??
    String(nextIndex(cursor, place));
  const { block } = occurrence.data;
  const type = isJsonObject(block) ? block['type'] : undefined;
  const callId = isJsonObject(block) ? textOf(block['id']) : undefined;
  const told = textOf(occurrence.data['tool_call_id']);
  const asksForCall = toolBlockTypes.has(type) && callId !== undefined && told === undefined;
  const id = blockId(occurrence, place, index);
  return {
    cursor: counting(cursor, occurrence, place, index, {
      open_blocks: layer2.open_blocks.filter((other) => other !== index),
      ...(asksForCall ? { pending_tool_blocks: withPending(cursor, occurrence, callId, id) } : {}),
    }),
    drafts: [
      ...blockDrafts(occurrence, place, index, {
        times: { ended_at: occurrence.at.canonical },
        values: { block_type: type },
      }),
      ...(told === undefined ? [] : callEdges(cursor, occurrence, id, told)),
    ],
  };
};

/** A block that names its call says that the call is told of too, before it or behind it: a hook may have been faster than the file (B80). */
function callEdges(
  { layer2 }: Cursor,
  occurrence: Occurrence,
  block: string,
  callId: string,
): readonly Draft[] {
  const call = end(occurrence, 'toolCall', ownedNodeId(occurrence.sessionNode, 'tool', callId));
  const caused = edge(end(occurrence, 'block', block), 'CAUSED', call, 'LEADS_TO');
  const { active_iteration_id: iteration } = layer2;
  if (iteration === null) return [caused];
  return [edge(end(occurrence, 'iteration', iteration), 'HAS_TOOL_CALL', call, 'CONTAINS'), caused];
}

/** Where a block belongs: exactly one owner, the iteration or without one the run (ING-606). */
interface Place {
  /** Number of the iteration in the block's id. */
  readonly scope: string;
  readonly owner: EdgeEnd;
  readonly drafts: readonly Draft[];
  readonly stray: readonly string[];
}

/**
 * Blocks outside of any iteration have the scope `0`, as in the predecessor; those of another run one of their own, or blocks of two runs
 * would be one node with two owners.
 */
function placeOf(cursor: Cursor, occurrence: Occurrence): Place {
  const {
    active_iteration_id: iteration,
    iteration_count: count,
    stray_blocks: stray,
  } = cursor.layer2;
  if (iteration !== null) {
    const owner = end(occurrence, 'iteration', iteration);
    return { scope: String(count), owner, drafts: [], stray };
  }
  const run = resolveRun(cursor, occurrence);
  const [knownRun, knownScope = ''] = stray;
  const isKnown = knownRun === run.runId;
  const fresh = knownRun === undefined ? '0' : `0@${occurrence.seq}`;
  const scope = isKnown ? knownScope : fresh;
  return {
    scope,
    owner: end(occurrence, 'run', run.runId),
    drafts: placeholderDrafts(occurrence, run),
    stray: isKnown ? stray : [run.runId, scope],
  };
}

function blockDrafts(
  occurrence: Occurrence,
  place: Place,
  index: string,
  told: Pick<NodeDraft, 'times' | 'values'>,
): readonly Draft[] {
  const id = blockId(occurrence, place, index);
  const number = Number(index);
  const values = {
    session_id: occurrence.session,
    block_index: Number.isSafeInteger(number) ? number : index,
    ...told.values,
  };
  return [
    ...place.drafts,
    { ...told, kind: 'draft', id, labels: kinds.block, values },
    edge(place.owner, 'HAS_PART', end(occurrence, 'block', id), 'CONTAINS'),
    sourcedFrom(occurrence, 'block', id),
  ];
}

function counting(
  cursor: Cursor,
  occurrence: Occurrence,
  place: Place,
  index: string,
  changes: Partial<CursorLayer2>,
): Cursor {
  const next = Math.max(nextIndex(cursor, place), counted(index) + 1);
  const block_seq = { [place.scope]: [occurrence.seq, next] as const };
  return {
    ...cursor,
    layer2: { ...cursor.layer2, ...changes, block_seq, stray_blocks: place.stray },
  };
}

function withPending(
  cursor: Cursor,
  occurrence: Occurrence,
  callId: string,
  block: string,
): CursorMap<string> {
  const { pending_tool_blocks: pending } = cursor.layer2;
  return withEntry(pending, mapKey(callId), [occurrence.seq, block], pendingMax);
}

function blockId(occurrence: Occurrence, place: Place, index: string): string {
  return ownedNodeId(occurrence.sessionNode, 'block', place.scope, index);
}

function nextIndex(cursor: Cursor, place: Place): number {
  return readEntry(cursor.layer2.block_seq, place.scope) ?? 0;
}

function indexOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? mapKey(value) : undefined;
}

function counted(index: string): number {
  const number = Number(index);
  return Number.isSafeInteger(number) && number >= 0 ? number : -1;
}
