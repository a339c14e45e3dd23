/**
 * The fold's state at a position (ING spec §4.3): an immutable, JSON-safe value, stored with the offset in one record (D5).
 * Readonly at every depth (D6); unknown members are kept and written back.
 */
export interface Cursor {
  readonly schema: 1;
  /** `session:end` was passed and nothing reopened the session (ING-807). */
  readonly terminal_seen: boolean;
  readonly layer1: {
    /** Counter of applied events; part of the ids of events without an id of their own (D21). */
    readonly event_seq: number;
  };
  readonly layer2: {
    readonly run_start_ts: string | null;
    readonly run_seq: number;
    readonly active_run_id: string | null;
    readonly open_runs: readonly string[];
    readonly run_seq_by_ts: Readonly<Record<string, number>>;
    readonly iteration_count: number;
    readonly active_iteration_id: string | null;
    readonly iteration_run_id: string | null;
    readonly block_seq: Readonly<Record<string, number>>;
    readonly last_prompt_id: string | null;
    readonly last_completed_run_id: string | null;
    readonly pending_tool_blocks: Readonly<Record<string, string>>;
    /** Tool calls of each open parallel group, oldest first (PQ-23). */
    readonly tool_groups: Readonly<Record<string, readonly string[]>>;
  };
  readonly layer3: {
    readonly recipe_stack: readonly string[];
    readonly active_recipe_step_id: string | null;
    readonly delegations: Readonly<Record<string, unknown>>;
    readonly parallel_groups: Readonly<Record<string, readonly string[]>>;
    readonly skills: Readonly<Record<string, string>>;
  };
  readonly [unknownMember: string]: unknown;
}
