import type { Mutation } from '#graph';
import { fitCursor, type Cursor, type LogRecord } from '#record';
import { foldBlockEnd, foldBlockStart } from './content-blocks.ts';
import {
  foldAgentCancelled,
  foldAgentCompleted,
  foldAgentResumed,
  foldAgentSpawned,
  foldDelegateError,
} from './delegations.ts';
import { eventDrafts, touchSession } from './event.ts';
import { foldCancelCompleted, foldCompaction } from './interruptions.ts';
import { foldLlmRequest, foldLlmResponse, foldProviderRequest } from './iterations.ts';
import { toOccurrence, type Draft, type Family } from './occurrence.ts';
import { foldPromptSubmit } from './prompts.ts';
import { foldLoopIteration, foldRecipeApproval, foldRecipeStep } from './recipe-steps.ts';
import { foldLoopComplete, foldRecipeComplete, foldRecipeStart } from './recipes.ts';
import { foldExecutionEnd, foldExecutionStart, foldOrchestratorComplete } from './runs.ts';
import { foldSessionEnd, foldSessionFork, foldSessionStart } from './sessions.ts';
import { settle, type SpilledValue, type Spill } from './settle.ts';
import { foldSkillLoaded, foldSkillUnloaded } from './skills.ts';
import { foldToolError, foldToolPost, foldToolPre } from './tool-calls.ts';

/** What a fold may know besides cursor and record: no clock, no store, no setting that could change. */
export interface FoldContext {
  /** The graph's spill limit in bytes of JSON text (D30). */
  readonly spillBytes: number;
}

export interface Folded {
  readonly cursor: Cursor;
  readonly mutations: readonly Mutation[];
  /** Values that must be durable objects before the mutations reach the graph. */
  readonly values: readonly SpilledValue[];
}

/** Which family folds which event; an event that is not here is an Event node all the same. */
const families: Readonly<Record<string, Family>> = {
  'session:start': foldSessionStart,
  'session:fork': foldSessionFork,
  'session:end': foldSessionEnd,
  'execution:start': foldExecutionStart,
  'execution:end': foldExecutionEnd,
  'orchestrator:complete': foldOrchestratorComplete,
  'provider:request': foldProviderRequest,
  'llm:request': foldLlmRequest,
  'llm:response': foldLlmResponse,
  'content_block:start': foldBlockStart,
  'content_block:end': foldBlockEnd,
  'tool:pre': foldToolPre,
  'tool:post': foldToolPost,
  'tool:error': foldToolError,
  'prompt:submit': foldPromptSubmit,
  'cancel:completed': foldCancelCompleted,
  'context:pre_compact': foldCompaction,
  'context:post_compact': foldCompaction,
  'delegate:agent_spawned': foldAgentSpawned,
  'delegate:agent_resumed': foldAgentResumed,
  'delegate:agent_completed': foldAgentCompleted,
  'delegate:agent_cancelled': foldAgentCancelled,
  'delegate:error': foldDelegateError,
  'skill:loaded': foldSkillLoaded,
  'skill:unloaded': foldSkillUnloaded,
  'recipe:start': foldRecipeStart,
  'recipe:step': foldRecipeStep,
  'recipe:approval': foldRecipeApproval,
  'recipe:loop_iteration': foldLoopIteration,
  'recipe:loop_complete': foldLoopComplete,
  'recipe:complete': foldRecipeComplete,
};

/** Names that have a family, for the documentation and its test. */
export const claimedEvents: readonly string[] = Object.keys(families);

/**
 * One record into mutations and the cursor behind it: pure, so the same cursor and record give the same result, whatever was tried before
 * (D6, P5). Throws EVENT_CONTRADICTS (`poison`) for a record that contradicts itself (D28), and nothing else for what admission accepted.
 */
export function fold(cursor: Cursor, record: LogRecord, context: FoldContext): Folded {
  const occurrence = toOccurrence(record, cursor);
  const spill: Spill = { limitBytes: context.spillBytes, values: new Map() };
  const touched = touchSession(cursor, occurrence);
  const family = Object.hasOwn(families, record.event) ? families[record.event] : undefined;
  const own = family?.(touched.cursor, occurrence);
  const drafts: readonly Draft[] = [
    ...touched.drafts,
    ...eventDrafts(occurrence, spill),
    ...(own?.drafts ?? []),
  ];
  const mutations = settle(record.session, drafts, spill);
  return {
    cursor: bounded(cursor, own?.cursor ?? touched.cursor),
    mutations,
    values: [...spill.values.values()],
  };
}

/** Only a map that changed can have outgrown the cursor (ING-212). */
function bounded(before: Cursor, after: Cursor): Cursor {
  const { layer2: a, layer3: c } = before;
  const { layer2: b, layer3: d } = after;
  const isSame =
    a.pending_tool_blocks === b.pending_tool_blocks &&
    a.tool_groups === b.tool_groups &&
    a.placeholder_iterations === b.placeholder_iterations &&
    c.parallel_groups === d.parallel_groups &&
    c.skills === d.skills &&
    c.begun === d.begun;
  return isSame ? after : fitCursor(after);
}
