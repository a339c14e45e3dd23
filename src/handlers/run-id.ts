import { boundedNodeId } from './node-id.ts';

/** A run's start as it stands in its id. */
export interface RunStart {
  /** Start time as the client wrote it. */
  readonly startText: string;
  /** 1 for the first run that the session started at this time (ING-602). */
  readonly seq: number;
}

const infix = '::orch_run::';

/** `{session}::orch_run::{start}`, from the second run at one time on with `::{n}` (ING-602). */
export function composeRunId(sessionNode: string, { startText, seq }: RunStart): string {
  return boundedNodeId(`${sessionNode}${infix}${startText}${seq > 1 ? `::${seq}` : ''}`);
}

/** Start of a run of this session; undefined for the placeholder, for another session's run and for a text that is no run id. */
export function parseRunId(sessionNode: string, runId: string): RunStart | undefined {
  if (!isRunId(sessionNode, runId) || runId === placeholderRunId(sessionNode)) return undefined;
  const [startText = '', seq = '1'] = runId.slice(sessionNode.length + infix.length).split('::');
  const start = { startText, seq: Number(seq) };
  return composeRunId(sessionNode, start) === runId ? start : undefined;
}

/** The one run on which parts hang whose run is not known (ING-604). */
export function placeholderRunId(sessionNode: string): string {
  return boundedNodeId(`${sessionNode}${infix}unresolved`);
}

function isRunId(sessionNode: string, text: string): boolean {
  return (
    text.startsWith(`${sessionNode}${infix}`) && text.length > sessionNode.length + infix.length
  );
}
