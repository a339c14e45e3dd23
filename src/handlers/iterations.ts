import { isJsonObject, type JsonObject, type JsonValue } from '#base';
import type { Cursor } from '#record';
import { withRawSummary } from './lifted-fields.ts';
import { ownedNodeId } from './node-id.ts';
import type { Family, NodeDraft, Occurrence, Outcome } from './occurrence.ts';
import { edge, end, kinds, sourcedFrom } from './occurrence.ts';
import { awaitingRun, leaveStrayBlocks, reparented } from './placeholder.ts';
import { placeholderDrafts, resolveRun } from './resolve-run.ts';

/** `provider:request`: the next iteration of the session, part of its run (ING-606). The event's own `iteration` counts otherwise. */
export const foldProviderRequest: Family = (before, occurrence) => {
  const { layer2 } = before;
  const number = layer2.iteration_count + 1;
  const id = ownedNodeId(occurrence.sessionNode, 'iteration', String(number));
  const run = resolveRun(before, occurrence);
  const after: Cursor = {
    ...before,
    layer2: {
      ...layer2,
      iteration_count: number,
      active_iteration_id: id,
      iteration_run_id: run.runId,
      block_seq: {},
      open_blocks: [],
      stray_blocks: leaveStrayBlocks(layer2.stray_blocks),
    },
  };
  const node: NodeDraft = {
    kind: 'draft',
    id,
    labels: kinds.iteration,
    times: { started_at: occurrence.at.canonical },
    values: { session_id: occurrence.session, iteration_number: number },
  };
  const part = end(occurrence, 'iteration', id);
  return {
    cursor: run.source === 'placeholder' ? awaitingRun(after, occurrence, id) : after,
    drafts: [
      ...placeholderDrafts(occurrence, run),
      node,
      edge(end(occurrence, 'run', run.runId), 'HAS_PART', part, 'CONTAINS'),
      sourcedFrom(occurrence, 'iteration', id),
    ],
  };
};

/** `llm:request` on the active iteration. */
export const foldLlmRequest: Family = (cursor, occurrence) => {
  const { provider, model, message_count, has_system } = occurrence.data;
  return onIteration(cursor, occurrence, { provider, model, message_count, has_system });
};

/** `llm:response` on the active iteration: what it used, under both names of the caches (G7), and what it cost. */
export const foldLlmResponse: Family = (cursor, occurrence) => {
  const { usage } = withRawSummary(occurrence.data);
  return onIteration(cursor, occurrence, isJsonObject(usage) ? usageValues(usage) : {});
};

/** Without an active iteration the event stays an Event alone, as in the predecessor. */
function onIteration(
  cursor: Cursor,
  occurrence: Occurrence,
  values: Readonly<Record<string, JsonValue | undefined>>,
): Outcome {
  const { active_iteration_id: id } = cursor.layer2;
  if (id === null) return { cursor, drafts: [] };
  const named = resolveRun(cursor, occurrence);
  const moved =
    named.source === 'event'
      ? reparented(cursor, occurrence, named.runId, id)
      : { cursor, drafts: [] };
  return {
    cursor: moved.cursor,
    drafts: [
      { kind: 'draft', id, labels: kinds.iteration, values },
      sourcedFrom(occurrence, 'iteration', id),
      ...moved.drafts,
    ],
  };
}

/** Names of each count, the first that is there counts; the last of each are those of an older seed file. */
const usageNames = {
  usage_input: ['input_tokens', 'input'],
  usage_output: ['output_tokens', 'output'],
  usage_cache_read: ['cache_read_tokens', 'cache_read_input_tokens', 'cache_read'],
  usage_cache_write: ['cache_write_tokens', 'cache_creation_input_tokens', 'cache_write'],
  usage_cost_usd: ['cost_usd'],
} as const;

function usageValues(usage: JsonObject): Record<string, JsonValue | undefined> {
  return Object.fromEntries(
    Object.entries(usageNames).map(([property, names]) => [
      property,
      names.map((name) => usage[name]).find((value) => value !== undefined && value !== null),
    ]),
  );
}
