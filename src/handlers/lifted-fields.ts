import { isJsonObject, type JsonObject, type JsonValue } from '#base';

interface Lift {
  /** Events whose name begins so; an empty text is every event. */
  readonly prefix: string;
  readonly members: readonly string[];
  /** The members stand in this object of `data`. */
  readonly within?: string;
}

/** Members of `data` that an Event node has as properties of their own: all rows that match, in this order (predecessor 4.4). */
const lifts: readonly Lift[] = [
  { prefix: '', members: ['parent_id'] },
  { prefix: 'artifact:', members: ['bytes', 'path'] },
  {
    prefix: 'delegate:',
    members: ['agent', 'sub_session_id', 'parent_session_id', 'tool_call_id', 'parallel_group_id'],
  },
  { prefix: 'llm:', members: ['model', 'provider'] },
  { prefix: 'prompt:', members: ['prompt', 'response_preview'] },
  {
    prefix: 'recipe:',
    members: [
      'recipe_name',
      'current_step',
      'description',
      'status',
      'step_id',
      'total_steps',
      'parent_session_id',
    ],
  },
  { prefix: 'session:', members: ['parent'] },
  {
    prefix: 'session:',
    within: 'metadata',
    members: [
      'agent_name',
      'tool_call_id',
      'parallel_group_id',
      'recipe_name',
      'recipe_step',
      'recipe_step_index',
    ],
  },
  { prefix: 'skill:', members: ['skill_directory', 'skill_name'] },
  { prefix: 'tool:', members: ['tool_name', 'tool_input', 'tool_call_id', 'parallel_group_id'] },
];

/** By event name: clients have some dozens, and looking all rows over costs as much as a twentieth of a fold. */
const rowsOf = new Map<string, readonly Lift[]>();
const namesMax = 1000;

function liftsOf(event: string): readonly Lift[] {
  const known = rowsOf.get(event);
  if (known !== undefined) return known;
  const rows = lifts.filter(({ prefix }) => event.startsWith(prefix));
  if (rowsOf.size >= namesMax) rowsOf.clear();
  rowsOf.set(event, rows);
  return rows;
}

export function liftedFields(event: string, data: JsonObject): Record<string, JsonValue> {
  const fields: Record<string, JsonValue> = {};
  for (const { members, within } of liftsOf(event)) {
    const holder = within === undefined ? data : data[within];
    if (!isJsonObject(holder)) continue;
    for (const member of members) {
      const value = Object.hasOwn(holder, member) ? holder[member] : undefined;
      if (value !== undefined && value !== null) fields[member] = value;
    }
  }
  return fields;
}

/**
 * `data` with what is worth keeping at hand taken out of a provider's `raw` answer, which may be moved away: `stop_reason`, `finish_reason`
 * and `usage`; what stands at the top already wins.
 */
export function withRawSummary(data: JsonObject): JsonObject {
  const { raw } = data;
  if (!isJsonObject(raw)) return data;
  const summary: Record<string, JsonValue> = {};
  for (const member of ['stop_reason', 'finish_reason']) {
    const value = raw[member];
    if (value !== undefined && value !== null && data[member] === undefined)
      summary[member] = value;
  }
  const usage = mergedUsage(data['usage'], raw['usage']);
  return { ...data, ...summary, ...(usage === undefined ? {} : { usage }) };
}

function mergedUsage(
  top: JsonValue | undefined,
  raw: JsonValue | undefined,
): JsonValue | undefined {
  if (!isJsonObject(raw)) return undefined;
  if (top === undefined || top === null) return raw;
  return isJsonObject(top) ? { ...raw, ...top } : undefined;
}
