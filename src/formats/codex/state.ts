import { newRowClock, type RowClock } from '../row-clock.ts';

/** All that the rows so far say about those to come; plain values, so that a follower can keep it over a restart. */
export interface CodexState {
  readonly clock: RowClock;
  session?: string;
  workspace?: string;
  model?: string;
  provider?: string;
  /** Id of a turn that was announced and has no run yet. */
  turn?: string;
  /** Name of the last run; later rows belong to it until the next. */
  run?: string;
  isRunOpen: boolean;
  /** The run was told with a turn's id: its end is told too. */
  isRunTurn: boolean;
  /** A prompt that has no run yet. */
  isPromptWaiting: boolean;
  /** The last prompts and answers by log and hash, since both logs of the file tell each. */
  texts: string[];
  /** An answer of the model is at hand: blocks belong to it. */
  isAnswering: boolean;
  blocks: number;
  /** Total of tokens that was told last: the same count is repeated. */
  total?: string;
  /** Names of calls that wait for their output, the oldest first. */
  calls: Record<string, string>;
}

export const callsMax = 256;
export const textsMax = 16;

export function newCodexState(): CodexState {
  return {
    clock: newRowClock(),
    isRunOpen: false,
    isRunTurn: false,
    isPromptWaiting: false,
    texts: [],
    isAnswering: false,
    blocks: 0,
    calls: {},
  };
}
