import { newRowClock, type RowClock } from '../row-clock.ts';

/** A call that waits for its result. */
export interface OpenCall {
  readonly name: string;
  readonly time: string;
  /** Of a call that starts a sub-agent. */
  readonly agent?: string;
  readonly prompt?: string;
  /** Session of the sub-agent, once it is known. */
  child?: string;
}

/** What is known of one stream of the file: the main session or a sub-agent. */
export interface StreamState {
  /** Name of the last run; later rows belong to it until the next prompt. */
  run?: string;
  isRunOpen: boolean;
  /** Rows are printed (`claude -p`): they do not show the prompt, and a run begins with its first answer. */
  isPrinted?: boolean;
  /** Prompt id of the last prompt: other rows of the same id are no prompts. */
  promptId?: string;
  /** The model's answer at hand: several rows with one id. */
  answer?: { readonly id: string; blocks: number; output: number };
  /** Open calls by id, the oldest first. */
  calls: Record<string, OpenCall>;
}

/** All that the rows so far say about those to come; plain values, so that a follower can keep it over a restart. */
export interface ClaudeState {
  readonly clock: RowClock;
  session?: string;
  workspace?: string;
  /** Version, folder and branch, told once. */
  streams: Record<string, StreamState>;
  /** Rows of old sidechains → session of their sub-agent. */
  chains: Record<string, string>;
  /** The last row with an id of its own: what stands behind it without one is told apart by it. */
  anchor: string;
}

/** Bounds of the maps: what a translator keeps does not grow with its file. */
export const streamsMax = 64;
export const callsMax = 256;
export const chainsMax = 1024;

export function newClaudeState(): ClaudeState {
  return { clock: newRowClock(), streams: {}, chains: {}, anchor: '' };
}

export function newStream(): StreamState {
  return { isRunOpen: false, calls: {} };
}
