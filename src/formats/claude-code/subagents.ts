import { idPart, recall, remember } from '../event-draft.ts';
import { agentSession, claudeIds } from './ids.ts';
import { messageText, type ClaudeRow } from './read-row.ts';
import { emit, streamOf, type RowContext } from './row-context.ts';
import { chainsMax, type ClaudeState, type OpenCall } from './state.ts';

/** Where a row belongs: the main session, or the session of a sub-agent. */
export interface RowStream {
  readonly session: string;
  /** The row begins a sidechain of an old version, whose call nothing but its prompt tells, or a printed one, which names its call. */
  readonly isChainStart: boolean;
}

/** Newer versions name the agent in each row; older ones only mark sidechains, whose rows hang together by their parents. */
export function streamOfRow(row: ClaudeRow, main: string, state: ClaudeState): RowStream {
  if (row.agentId !== undefined)
    return { session: agentSession(main, row.agentId), isChainStart: false };
  if (row.parentCall !== undefined) {
    const printed = `${main}-sidechain-${idPart(row.parentCall)}`;
    return { session: printed, isChainStart: recall(state.streams, printed) === undefined };
  }
  if (!row.isSidechain) return { session: main, isChainStart: false };
  const known = row.parent === undefined ? undefined : recall(state.chains, row.parent);
  const name = row.uuid ?? row.parent ?? 'unknown';
  const session = known ?? `${main}-sidechain-${idPart(name)}`;
  if (row.uuid !== undefined) remember(state.chains, row.uuid, session, chainsMax);
  return { session, isChainStart: known === undefined };
}

/** Ties a sidechain to the call that started it: the one that it names, else the one with its prompt, else the oldest that waits. */
export function matchChain(context: RowContext, main: string): void {
  const { state, row } = context;
  const parent = streamOf(state, main);
  const waiting = Object.entries(parent.calls).filter(
    ([, call]) => call.agent !== undefined && call.child === undefined,
  );
  const prompt = messageText(row.blocks);
  const [callId, call] =
    row.parentCall === undefined
      ? (waiting.find(([, one]) => one.prompt === prompt) ?? waiting[0] ?? [])
      : (waiting.find(([id]) => id === row.parentCall) ?? []);
  if (callId === undefined || call === undefined) return;
  call.child = context.session;
  tellSpawn({ ...context, session: main, stream: parent }, callId, call, call.child);
}

/** Told in the parent's stream, with the time of the call. */
export function tellSpawn(
  context: RowContext,
  callId: string,
  call: OpenCall,
  child: string,
): void {
  emit(
    context,
    'delegate:agent_spawned',
    {
      agent: call.agent,
      sub_session_id: child,
      parent_session_id: context.session,
      tool_call_id: callId,
    },
    { id: claudeIds.spawn(callId), time: call.time },
  );
}
