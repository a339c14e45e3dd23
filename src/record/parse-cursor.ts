import type { Cursor } from './cursor.ts';

/** `fault` names the member and what is wrong with it; the reader of the record raises CURSOR_CORRUPT. */
export type ParsedCursor =
  | { readonly cursor: Cursor; readonly fault?: undefined }
  | { readonly cursor?: undefined; readonly fault: string };

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isTextOrNull: Check = (value) => value === null || typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);
const isFrameList: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (frame) =>
      Array.isArray(frame) && frame.length === 2 && isText(frame[0]) && isTextOrNull(frame[1]),
  );
const isAnything: Check = (value) => value !== undefined;

function isMapOf(isValue: Check): Check {
  return (value) =>
    isObject(value) &&
    Object.values(value).every(
      (entry) =>
        Array.isArray(entry) && entry.length === 2 && isCount(entry[0]) && isValue(entry[1]),
    );
}

type MemberChecks = Readonly<Record<string, Check>>;

/** Newest cursor that this program reads. */
export const cursorSchema = 1;

const topMembers: MemberChecks = {
  schema: (value) => value === cursorSchema,
  terminal_seen: (value) => typeof value === 'boolean',
};

const layers: Readonly<Record<string, MemberChecks>> = {
  layer1: { event_seq: isCount, last_updated: isTextOrNull },
  layer2: {
    run_start_ts: isTextOrNull,
    run_seq: isCount,
    active_run_id: isTextOrNull,
    open_runs: isTextList,
    ended_runs: isTextList,
    run_seq_by_ts: isMapOf(isCount),
    run_floor_ms: isCount,
    iteration_count: isCount,
    active_iteration_id: isTextOrNull,
    iteration_run_id: isTextOrNull,
    placeholder_iterations: isMapOf(isText),
    block_seq: isMapOf(isCount),
    open_blocks: isTextList,
    stray_blocks: isTextList,
    last_prompt_id: isTextOrNull,
    last_completed_run_id: isTextOrNull,
    pending_tool_blocks: isMapOf(isText),
    tool_groups: isMapOf(isTextList),
  },
  layer3: {
    recipe_stack: isFrameList,
    active_recipe_step_id: isTextOrNull,
    delegations: isMapOf(isAnything),
    parallel_groups: isMapOf(isTextList),
    skills: isMapOf(isText),
  },
};

/**
 * A stored cursor, checked whole before any of it is used (ING-502): one wrong member in one layer refuses all. Unknown members stay.
 */
export function parseCursor(value: unknown): ParsedCursor {
  if (!isObject(value)) return { fault: 'it is not an object' };
  const { schema } = value;
  if (isCount(schema) && Number(schema) > cursorSchema)
    return { fault: `its schema ${Number(schema)} is newer than ${cursorSchema}` };
  const top = firstFault(value, topMembers, '');
  if (top !== undefined) return { fault: top };
  for (const [layer, members] of Object.entries(layers)) {
    const stored = value[layer];
    if (!isObject(stored)) return { fault: `${layer} is missing or not an object` };
    const fault = firstFault(stored, members, `${layer}.`);
    if (fault !== undefined) return { fault };
  }
  const cursor = value as unknown as Cursor;
  const { begun } = cursor.layer3 as { readonly begun?: unknown };
  if (begun !== undefined && !isMapOf(isCount)(begun))
    return { fault: 'layer3.begun has the wrong form' };
  // A cursor stored before recipes were folded has no count of them.
  return {
    cursor: begun !== undefined ? cursor : { ...cursor, layer3: { ...cursor.layer3, begun: {} } },
  };
}

function firstFault(
  value: Readonly<Record<string, unknown>>,
  checks: MemberChecks,
  prefix: string,
): string | undefined {
  for (const [member, isRight] of Object.entries(checks)) {
    if (!Object.hasOwn(value, member)) return `${prefix}${member} is missing`;
    if (!isRight(value[member])) return `${prefix}${member} has the wrong form`;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
