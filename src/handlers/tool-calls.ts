import { isJsonObject, type JsonObject, type JsonValue } from '#base';
import { readEntry, withEntry, withoutEntry, type Cursor } from '#record';
import { mapKey, ownedNodeId } from './node-id.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sourcedFrom, textOf } from './occurrence.ts';

/**
 * Parallel groups that are remembered, and calls of one group that a new call is tied to. The predecessor ties every pair: 200 calls made
 * 19 900 edges (PN-22); with this bound a group costs at most 64 edges a call.
 */
const groupsMax = 64;
const groupCallsMax = 64;
/** Members of `tool_input` that name the file a call works on. */
const pathMembers = ['file_path', 'path', 'notebook_path', 'filename'] as const;
const resultMembers = ['result', 'tool_response', 'tool_result'] as const;

/** `tool:pre`: the call, under its iteration, caused by the block that asked for it, beside the calls of its group. */
export const foldToolPre: Family = (before, occurrence) => {
  const call = callOf(occurrence);
  if (call === undefined) return { cursor: before, drafts: [] };
  const { data, at } = occurrence;
  const { layer2 } = before;
  const { id, callId } = call;
  const block = readEntry(layer2.pending_tool_blocks, mapKey(callId));
  const group = textOf(data['parallel_group_id']);
  const node: NodeDraft = {
    ...callNode(call, { started_at: at.canonical }),
    values: {
      ...identity(occurrence, call),
      tool_input: data['tool_input'],
      file_path: pathOf(data['tool_input']),
      parallel_group_id: group,
    },
  };
  const pending = withoutEntry(layer2.pending_tool_blocks, mapKey(callId));
  const cursor: Cursor = { ...before, layer2: { ...layer2, pending_tool_blocks: pending } };
  const target = end(occurrence, 'toolCall', id);
  // A sender that does not know where in the stream it stands says nothing of what is active there (B80).
  const isUnordered = data['is_unordered'] === true;
  const iteration = isUnordered ? null : layer2.active_iteration_id;
  const { active_recipe_step_id: step } = before.layer3;
  return {
    cursor: group === undefined ? cursor : joined(cursor, occurrence, group, id),
    drafts: [
      node,
      sourcedFrom(occurrence, 'toolCall', id),
      ...(iteration === null
        ? []
        : [edge(end(occurrence, 'iteration', iteration), 'HAS_TOOL_CALL', target, 'CONTAINS')]),
      ...(block === undefined
        ? []
        : [edge(end(occurrence, 'block', block), 'CAUSED', target, 'LEADS_TO')]),
      ...(step === null
        ? []
        : [edge(end(occurrence, 'recipeStep', step), 'TRIGGERED', target, 'LEADS_TO')]),
      ...(group === undefined ? [] : parallelEdges(before, occurrence, group, id)),
    ],
  };
};

/** `tool:post`: the result, read before anything large is moved away (G6). */
export const foldToolPost: Family = (cursor, occurrence) => {
  const { data } = occurrence;
  const result = resultMembers
    .map((member) => data[member])
    .find((value) => value !== undefined && value !== null);
  return ended(cursor, occurrence, resultValues(result, data));
};

/** `tool:error`: the first of its three names that says anything. */
export const foldToolError: Family = (cursor, occurrence) => {
  const { error, error_message, message } = occurrence.data;
  const said = [error, error_message, message].find(isError);
  return ended(cursor, occurrence, { result_success: false, result_error: said });
};

interface Call {
  readonly id: string;
  readonly callId: string;
}

/** The session owns its calls: equal ids of two sessions are two nodes (G9). Without an id there is nothing to tie an end to. */
function callOf(occurrence: Occurrence): Call | undefined {
  const callId = textOf(occurrence.data['tool_call_id']);
  if (callId === undefined) return undefined;
  return { callId, id: ownedNodeId(occurrence.sessionNode, 'tool', callId) };
}

function ended(
  cursor: Cursor,
  occurrence: Occurrence,
  result: Readonly<Record<string, JsonValue | undefined>>,
): { readonly cursor: Cursor; readonly drafts: readonly Draft[] } {
  const call = callOf(occurrence);
  if (call === undefined) return { cursor, drafts: [] };
  const node = callNode(call, { ended_at: occurrence.at.canonical });
  return {
    cursor,
    drafts: [
      { ...node, values: { ...identity(occurrence, call), ...result } },
      sourcedFrom(occurrence, 'toolCall', call.id),
    ],
  };
}

function callNode(call: Call, times: Readonly<Record<string, string>>): NodeDraft {
  return { kind: 'draft', id: call.id, labels: kinds.toolCall, times };
}

function identity(occurrence: Occurrence, call: Call): Record<string, JsonValue | undefined> {
  return {
    tool_call_id: call.callId,
    session_id: occurrence.session,
    tool_name: occurrence.data['tool_name'],
  };
}

function resultValues(
  result: JsonValue | undefined,
  data: JsonObject,
): Record<string, JsonValue | undefined> {
  const shaped = isJsonObject(result) ? result : undefined;
  const error = [shaped?.['error'], data['error']].find(isError);
  const isRefused = shaped?.['success'] === false || data['success'] === false;
  return {
    result_success: error === undefined && !isRefused,
    result_output: shaped === undefined ? result : outputOf(shaped),
    result_error: error,
  };
}

/** `output` where there is one; a result of another form is output as it is, one that only reports success has none. */
function outputOf(result: JsonObject): JsonValue | undefined {
  if (result['output'] !== undefined) return result['output'];
  const isReport = Object.keys(result).every(
    (member) => member === 'success' || member === 'error',
  );
  return isReport ? undefined : result;
}

function isError(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

function pathOf(input: JsonValue | undefined): string | undefined {
  if (!isJsonObject(input)) return undefined;
  return pathMembers.map((member) => textOf(input[member])).find((path) => path !== undefined);
}

/** From the new call to each earlier one of its group. */
function parallelEdges(
  cursor: Cursor,
  occurrence: Occurrence,
  group: string,
  id: string,
): readonly Draft[] {
  const earlier = readEntry(cursor.layer2.tool_groups, mapKey(group)) ?? [];
  return earlier
    .filter((other) => other !== id)
    .map((other) =>
      edge(
        end(occurrence, 'toolCall', id),
        'PARALLEL_EXECUTION',
        end(occurrence, 'toolCall', other),
        'NEAR',
      ),
    );
}

function joined(cursor: Cursor, occurrence: Occurrence, group: string, id: string): Cursor {
  const { layer2 } = cursor;
  const earlier = readEntry(layer2.tool_groups, mapKey(group)) ?? [];
  const calls = [...earlier.filter((other) => other !== id), id].slice(-groupCallsMax);
  const groups = withEntry(layer2.tool_groups, mapKey(group), [occurrence.seq, calls], groupsMax);
  return { ...cursor, layer2: { ...layer2, tool_groups: groups } };
}
