/**
 * A value of a bounded map beside the `event_seq` at which it came: what is evicted first must not hang on member order, which a canonical
 * form or a member named `7` would change.
 */
export type CursorEntry<V> = readonly [seq: number, value: V];
export type CursorMap<V> = Readonly<Record<string, CursorEntry<V>>>;

/**
 * The fold's state at a position (ING spec §4.3): an immutable, JSON-safe value, stored with the offset in one record (D5).
 * Readonly at every depth (D6); unknown members are kept and written back.
 */
export interface Cursor {
  readonly schema: 1;
  /** `session:end` was passed and nothing reopened the session (ING-807). */
  readonly terminal_seen: boolean;
  readonly layer1: CursorLayer1;
  readonly layer2: CursorLayer2;
  readonly layer3: CursorLayer3;
  readonly [unknownMember: string]: unknown;
}

/** What every event moves. */
export interface CursorLayer1 {
  /** Counter of applied events; part of the ids of events without an id of their own (D21). */
  readonly event_seq: number;
  /** Latest time of an event, RFC 3339 UTC with nine fraction digits; null before the first. */
  readonly last_updated: string | null;
  readonly [unknownMember: string]: unknown;
}

/** The structure of a run. */
export interface CursorLayer2 {
  readonly run_start_ts: string | null;
  readonly run_seq: number;
  readonly active_run_id: string | null;
  /** Runs without `orchestrator:complete`, innermost last. */
  readonly open_runs: readonly string[];
  /** Those of `open_runs` that had their `execution:end`. */
  readonly ended_runs: readonly string[];
  /** Start time, as the client wrote it → runs begun at it (ING-603); its number is the time in epoch ms, so that the earliest go first. */
  readonly run_seq_by_ts: CursorMap<number>;
  /** Latest start, in epoch ms, that went out of `run_seq_by_ts`: what starts at or before it cannot know whether it is the first. */
  readonly run_floor_ms: number;
  readonly iteration_count: number;
  readonly active_iteration_id: string | null;
  /** The run that the active iteration is part of. */
  readonly iteration_run_id: string | null;
  /** Iterations that hang on the placeholder run → their start time (ING-607). */
  readonly placeholder_iterations: CursorMap<string>;
  /** Number of the active iteration → index of its next block that names none. */
  readonly block_seq: CursorMap<number>;
  /** Indexes of the active iteration's blocks that have begun and not ended, oldest first. */
  readonly open_blocks: readonly string[];
  /** Of blocks outside of any iteration: their run, and what stands for the iteration in their ids. Empty before the first. */
  readonly stray_blocks: readonly string[];
  readonly last_prompt_id: string | null;
  readonly last_completed_run_id: string | null;
  /** Tool call id → the content block that asked for it, until `tool:pre` takes it. */
  readonly pending_tool_blocks: CursorMap<string>;
  /** Parallel group → ids of its tool calls, oldest first (PQ-23). */
  readonly tool_groups: CursorMap<readonly string[]>;
  readonly [unknownMember: string]: unknown;
}

/** Recipes, delegations, skills. */
export interface CursorLayer3 {
  /** Recipe runs that are open, innermost last, each with the step of the outer run that it takes the place of (PG-22). */
  readonly recipe_stack: readonly RecipeFrame[];
  readonly active_recipe_step_id: string | null;
  /** Empty: a delegation's end names it, so nothing need be remembered. The seat is in stored cursors of version 1. */
  readonly delegations: CursorMap<unknown>;
  readonly parallel_groups: CursorMap<readonly string[]>;
  /** Skill name → its SkillLoad node, until it is unloaded. */
  readonly skills: CursorMap<string>;
  /** Id of a recipe run or step → how often one of this id has begun: a repeated one is a node of its own (PG-22). */
  readonly begun: CursorMap<number>;
  readonly [unknownMember: string]: unknown;
}

export type RecipeFrame = readonly [run: string, outerStep: string | null];

/** The state before a key's first record. */
export function emptyCursor(): Cursor {
  return {
    schema: 1,
    terminal_seen: false,
    layer1: { event_seq: 0, last_updated: null },
    layer2: {
      run_start_ts: null,
      run_seq: 0,
      active_run_id: null,
      open_runs: [],
      ended_runs: [],
      run_seq_by_ts: {},
      run_floor_ms: 0,
      iteration_count: 0,
      active_iteration_id: null,
      iteration_run_id: null,
      placeholder_iterations: {},
      block_seq: {},
      open_blocks: [],
      stray_blocks: [],
      last_prompt_id: null,
      last_completed_run_id: null,
      pending_tool_blocks: {},
      tool_groups: {},
    },
    layer3: {
      recipe_stack: [],
      active_recipe_step_id: null,
      delegations: {},
      parallel_groups: {},
      skills: {},
      begun: {},
    },
  };
}
