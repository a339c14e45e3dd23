import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '#base';
import { sampleText } from './sample-events.ts';

/** A node of a reference graph, in the words of ours. */
export interface GoldenNode {
  readonly id: string;
  readonly labels: readonly string[];
  readonly properties: Readonly<Record<string, JsonValue>>;
}

export interface GoldenEdge {
  readonly from: string;
  readonly type: string;
  readonly to: string;
  readonly properties: Readonly<Record<string, JsonValue>>;
}

export interface GoldenGraph {
  readonly nodes: readonly GoldenNode[];
  readonly edges: readonly GoldenEdge[];
  /** What was left out on purpose, with the rule. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Ids and properties of our nodes: what a reference id is looked up in. */
export type OurNodes = ReadonlyMap<
  string,
  { readonly labels: ReadonlySet<string>; readonly properties: ReadonlyMap<string, JsonValue> }
>;

/** D26: a time has nine fraction digits; the reference leaves them out where all are zero. */
const wholeSecond = /("\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z"/g;

/** A reference graph with the meant differences G1 to G15 applied that concern identity; all else stays to be compared. */
export function readGolden(name: string, ours: OurNodes): GoldenGraph {
  const text = sampleText(`golden/${name}.graph.json`).replace(wholeSecond, '$1.000000000Z"');
  const file = parseJson(text) as {
    nodes: readonly JsonObject[];
    edges: readonly (readonly [string, string, string, JsonObject])[];
  } & JsonObject;
  const leftOut: Record<string, number> = {};
  const ids = new Map<string, string>();
  const nodes: GoldenNode[] = [];
  for (const node of file.nodes) {
    const { id, labels, workspace: _workspace, ...properties } = node as Record<string, JsonValue>;
    const why = reasonToLeaveOut(id as string, labels as readonly string[]);
    if (why !== undefined) {
      leftOut[why] = (leftOut[why] ?? 0) + 1;
      continue;
    }
    const ourId = ourIdOf(id as string, labels as readonly string[], properties, ours);
    ids.set(id as string, ourId);
    nodes.push({ id: ourId, labels: labels as readonly string[], properties });
  }
  const edges: GoldenEdge[] = [];
  for (const [from, type, to, properties] of file.edges) {
    const ends = [ids.get(from), ids.get(to)];
    if (ends[0] === undefined || ends[1] === undefined) {
      leftOut['edge of such a node'] = (leftOut['edge of such a node'] ?? 0) + 1;
    } else edges.push({ from: ends[0], type, to: ends[1], properties });
  }
  return { nodes, edges, leftOut };
}

function reasonToLeaveOut(id: string, labels: readonly string[]): string | undefined {
  if (labels.length === 0) return 'G3 placeholder without a label';
  if (id === '') return 'G8 concept without a name';
  return undefined;
}

function ourIdOf(
  id: string,
  labels: readonly string[],
  properties: Readonly<Record<string, JsonValue>>,
  ours: OurNodes,
): string {
  if (labels.includes('Event')) return ourEventId(id, properties, ours);
  const concept = ['Orchestrator', 'Agent', 'Recipe'].find((label) => labels.includes(label));
  if (concept !== undefined) return `${concept.toLowerCase()}::${id}`;
  if (labels.includes('ToolCall')) {
    const found = [...ours].filter(
      ([, node]) => node.labels.has('ToolCall') && node.properties.get('tool_call_id') === id,
    );
    return found.length === 1 ? (found[0]?.[0] ?? id) : id;
  }
  return id.replace(/(::block::\d+::)None$/, '$10');
}

/** G1: the prefix up to the milliseconds, then an ending of ours. */
function ourEventId(
  id: string,
  properties: Readonly<Record<string, JsonValue>>,
  ours: OurNodes,
): string {
  const { session_id: session, event_name: event } = properties as Record<string, string>;
  const stem = `${session}__${(event ?? '').replaceAll(':', '_')}__`;
  const prefix = `${stem}${/^-?\d+/.exec(id.slice(stem.length))?.[0]}__`;
  const found = [...ours].filter(
    ([ourId, node]) =>
      ourId.startsWith(prefix) &&
      cutToMicroseconds(node.properties.get('occurred_at')) === properties['occurred_at'],
  );
  return found.length === 1 ? (found[0]?.[0] ?? id) : id;
}

/** G4: the reference times end at the microsecond. */
export function cutToMicroseconds(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return value;
  return value.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})\d{3}Z$/, '$1000Z');
}

/** Whether our property says what the reference's says; `''` or the difference. */
export function propertyDifference(
  node: GoldenNode,
  name: string,
  ours: ReadonlyMap<string, JsonValue>,
): string {
  const expected = node.properties[name];
  const actual = cutToMicroseconds(ours.get(name));
  if (JSON.stringify(expected) === JSON.stringify(actual)) return '';
  if (isMeant(name, expected, actual, ours)) return '';
  return `${node.id}: ${name} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
}

function isMeant(
  name: string,
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  ours: ReadonlyMap<string, JsonValue>,
): boolean {
  if (name === 'status')
    return expected === 'running' && actual === 'completed' && ours.has('ended_at');
  if (name === 'result_success')
    return expected === true && actual === false && ours.has('result_error');
  if (name === 'data') return isSameData(expected as string, actual as string);
  const shortened = /^<(\d+) characters>$/.exec(typeof expected === 'string' ? expected : '');
  return shortened !== null && typeof actual === 'string' && actual.length === Number(shortened[1]);
}

/** G14: where the reference moved a value away, ours has it, or its own reference. Whatever else `data` holds must be equal as text. */
function isSameData(expected: string, actual: string): boolean {
  const shortened = /^<(\d+) characters>$/.exec(expected);
  if (shortened !== null) return actual.length === Number(shortened[1]);
  const [reference, our] = [parseJson(expected), parseJson(actual)];
  if (!isJsonObject(reference) || !isJsonObject(our)) return false;
  const moved = Object.keys(reference).filter((member) => {
    const value = reference[member];
    return isJsonObject(value) && value['$blob_ref'] !== undefined;
  });
  if (moved.length === 0) return false;
  const rest = (value: JsonObject): string =>
    JSON.stringify(Object.entries(value).filter(([member]) => !moved.includes(member)));
  return rest(reference) === rest(our) && moved.every((member) => our[member] !== undefined);
}
