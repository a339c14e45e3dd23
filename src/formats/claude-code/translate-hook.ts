import type { JsonObject, JsonValue } from '#base';
import {
  defined,
  idPart,
  objectOf,
  projectOfPath,
  projectSlug,
  slugOf,
  textOf,
  without,
  type EventDraft,
} from '../event-draft.ts';
import { agentSession, agentTools, claudeIds, orchestratorName } from './ids.ts';

/** What the door knows of a payload: hooks say neither when nor in which workspace. */
export interface HookArrival {
  /** ISO 8601, of the arrival. */
  readonly time: string;
  /** Undefined for the project's folder. */
  readonly workspace: string | undefined;
  /** Id of events that have none of their own: of a payload in a file its place there, of a live one nothing. */
  readonly placeId?: string | undefined;
}

interface Hook {
  readonly payload: JsonObject;
  readonly arrival: HookArrival;
  /** Session of the sub-agent in which the hook fired, or the main one. */
  readonly session: string | undefined;
  readonly main: string | undefined;
  readonly promptId: string | undefined;
}

type Told = readonly [
  event: string,
  data: Readonly<Record<string, JsonValue | undefined>>,
  id?: string | undefined,
];

/** Members that every payload repeats; they stand in no event but the first. */
const common = ['session_id', 'transcript_path', 'hook_event_name'] as const;

/** Hooks whose events the graph knows; every other is an event under its own name. */
const hooks: Readonly<Record<string, (hook: Hook) => readonly Told[]>> = {
  SessionStart: sessionStart,
  UserPromptSubmit: promptSubmit,
  PreToolUse: (hook) => [['tool:pre', toolOf(hook), callId(hook, claudeIds.toolPre)]],
  PostToolUse: postTool,
  PostToolUseFailure: (hook) => [
    [
      'tool:error',
      { ...toolOf(hook), error: hook.payload['error'] ?? hook.payload['error_message'] ?? 'error' },
      callId(hook, claudeIds.toolPost),
    ],
  ],
  PermissionRequest: (hook) => [['approval:required', restOf(hook)]],
  PermissionDenied: (hook) => [['approval:denied', restOf(hook)]],
  Notification: (hook) => [['user:notification', restOf(hook)]],
  PreCompact: (hook) => [['context:pre_compact', restOf(hook)]],
  Stop: (hook) => stop(hook, 'success'),
  StopFailure: (hook) => [['provider:error', restOf(hook)], ...stop(hook, 'error')],
  SubagentStart: (hook) => [
    ['session:start', { ...restOf(hook), parent_id: hook.main }, claudeIds.start],
  ],
  SubagentStop: (hook) => [['session:end', { ...restOf(hook), parent_id: hook.main }]],
  SessionEnd: (hook) => [['session:end', restOf(hook)]],
};

export function isClaudeHook(object: JsonObject): boolean {
  return textOf(object['hook_event_name']) !== undefined;
}

/** Events of one hook's payload; pure. A name that is not known yet gives an event of that name. */
export function translateHook(payload: JsonObject, arrival: HookArrival): readonly EventDraft[] {
  const name = textOf(payload['hook_event_name']) ?? 'unknown';
  const main = textOf(payload['session_id']);
  const agentId = textOf(payload['agent_id']);
  const session = main === undefined || agentId === undefined ? main : agentSession(main, agentId);
  const hook: Hook = { payload, arrival, session, main, promptId: textOf(payload['prompt_id']) };
  const told = Object.hasOwn(hooks, name)
    ? (hooks[name]?.(hook) ?? [])
    : ([[`claude_code:${slugOf(name)}`, restOf(hook)]] as const);
  const workspace =
    arrival.workspace ??
    projectOfPath(textOf(payload['transcript_path'])) ??
    projectSlug(textOf(payload['cwd'])) ??
    'claude-code';
  return told.map(([event, data, id], at) => ({
    event,
    workspace,
    session,
    time: arrival.time,
    id: id ?? (arrival.placeId === undefined ? undefined : `${arrival.placeId}:${at}`),
    data: defined(data),
    workingDir: event === 'session:start' ? textOf(payload['cwd']) : undefined,
  }));
}

/** A session that is resumed or compacted goes on; every other start begins one. */
function sessionStart(hook: Hook): readonly Told[] {
  const source = textOf(hook.payload['source']) ?? textOf(hook.payload['scope']);
  if (source === 'resume') return [['session:resume', restOf(hook)]];
  if (source === 'compact') return [['claude_code:session_start_compact', restOf(hook)]];
  return [['session:start', restOf(hook), claudeIds.start]];
}

/** Without a prompt id nothing ties the prompt to its row in the transcript. */
function promptSubmit(hook: Hook): readonly Told[] {
  const { payload, promptId } = hook;
  const prompt = payload['prompt'] ?? payload['prompt_text'] ?? '';
  const told = { ...restOf(hook), prompt };
  if (promptId === undefined)
    return [
      ['prompt:submit', told],
      ['execution:start', { prompt }],
    ];
  return [
    ['prompt:submit', told, claudeIds.prompt(promptId)],
    ['execution:start', { prompt, ...runOf(hook) }, claudeIds.run(promptId)],
  ];
}

function stop(hook: Hook, status: 'success' | 'error'): readonly Told[] {
  const { payload, promptId } = hook;
  const run = runOf(hook);
  const response = payload['last_assistant_message'];
  const name = orchestratorName;
  const [end, complete] =
    promptId === undefined ? [] : [claudeIds.runEnd(promptId), claudeIds.complete(promptId)];
  return [
    ['execution:end', { ...restOf(hook), status, response, ...run }, end],
    ['orchestrator:complete', { orchestrator: name, status, ...run }, complete],
  ];
}

/** The answer of a call that started a sub-agent names it. */
function postTool(hook: Hook): readonly Told[] {
  const { payload, session } = hook;
  const response = payload['tool_response'] ?? payload['tool_output'];
  const told: Told = [
    'tool:post',
    { ...toolOf(hook), result: { success: true, output: response ?? null } },
    callId(hook, claudeIds.toolPost),
  ];
  const agentId = textOf(objectOf(response)?.['agentId']);
  const call = textOf(payload['tool_use_id']);
  const isDelegation = agentTools.has(textOf(payload['tool_name']) ?? '');
  if (!isDelegation || agentId === undefined || call === undefined || session === undefined)
    return [told];
  const delegation = {
    agent: textOf(objectOf(payload['tool_input'])?.['subagent_type']) ?? 'general-purpose',
    sub_session_id: agentSession(session, agentId),
    parent_session_id: session,
    tool_call_id: call,
  };
  return [
    told,
    ['delegate:agent_spawned', delegation, claudeIds.spawn(call)],
    ['delegate:agent_completed', { ...delegation, success: true }, claudeIds.spawnEnd(call)],
  ];
}

/** Hooks run side by side: their order of arrival is not that of the calls. */
function toolOf(hook: Hook): Readonly<Record<string, JsonValue | undefined>> {
  const { payload } = hook;
  return {
    ...without(restOf(hook), 'tool_use_id', 'tool_response', 'tool_output'),
    tool_call_id: payload['tool_use_id'],
    is_unordered: true,
    ...runOf(hook),
  };
}

function runOf({ session, promptId, main }: Hook): { readonly run_name?: string } {
  if (promptId === undefined || session === undefined || session !== main) return {};
  return { run_name: idPart(promptId) };
}

function callId({ payload }: Hook, idOf: (call: string) => string): string | undefined {
  const call = textOf(payload['tool_use_id']);
  return call === undefined ? undefined : idOf(call);
}

function restOf({ payload }: Hook): JsonObject {
  return without(payload, ...common);
}
