import { canonicalJson, isJsonObject, parseJson, type JsonObject, type JsonValue } from '#base';
import { sessionNodeId } from '#record';
import type { OpsContext } from '../ops-context.ts';

/** Members of an event's `data` that the predecessor kept as files of their own, whatever their size. */
export const blobFields = [
  'raw',
  'result',
  'messages',
  'mount_plan',
  'context_snapshot',
  'debug',
] as const;

export interface Blob {
  /** `{event node id}__{field}`, as the predecessor named its files. */
  readonly key: string;
  /** Of its JSON text in UTF-8. */
  readonly bytes: number;
}

interface SessionName {
  readonly workspace: string;
  readonly session: string;
}

/** Events that one question reads, and what it may take. */
const pageRows = 500;
const limits = { rows: pageRows, bytes: 16 * 2 ** 20, timeMs: 30_000 };

const mayHaveBlob = blobFields.map((field) => `e.data CONTAINS '"${field}"'`).join(' OR ');

/** All blobs of a session, sorted by key. A session that was never seen has none. */
export async function blobsOf(
  context: OpsContext,
  { workspace, session }: SessionName,
  signal: AbortSignal,
): Promise<readonly Blob[]> {
  const found: Blob[] = [];
  let after = '';
  for (let hasMore = true; hasMore;) {
    const page = await context.graph.cypher(
      {
        text: `MATCH (s:Session {node_id: $session})-[:HAS_EVENT]->(e)
          WHERE e.node_id > $after AND (e.data STARTS WITH '{"$object"' OR ${mayHaveBlob})
          RETURN e.node_id, e.data ORDER BY e.node_id LIMIT ${pageRows}`,
        parameters: { session: sessionNodeId(session), after },
        workspaces: [workspace],
        limits,
      },
      signal,
    );
    for (const [id, text] of page.rows) {
      after = String(id);
      const data = await readData(context, String(text));
      for (const [field, value] of blobMembers(data))
        found.push({ key: `${after}__${field}`, bytes: sizeOf(value) });
    }
    hasMore = page.rows.length > 0 && (page.hasMore || page.rows.length === pageRows);
  }
  return found.toSorted((left, right) => (left.key < right.key ? -1 : 1));
}

/** The value of one blob; undefined where there is none of this key. */
export async function readBlob(
  context: OpsContext,
  { workspace, session }: SessionName,
  key: string,
  signal: AbortSignal,
): Promise<JsonValue | undefined> {
  const known = blobFields.find((field) => key.endsWith(`__${field}`));
  if (known === undefined) return undefined;
  const answer = await context.graph.cypher(
    {
      text: `MATCH (s:Session {node_id: $session})-[:HAS_EVENT]->(e {node_id: $node}) RETURN e.data`,
      parameters: { session: sessionNodeId(session), node: key.slice(0, -known.length - 2) },
      workspaces: [workspace],
      limits: { ...limits, rows: 1 },
    },
    signal,
  );
  const text = answer.rows[0]?.[0];
  if (typeof text !== 'string') return undefined;
  const value = blobMembers(await readData(context, text)).get(known);
  return value === undefined ? undefined : followObject(context, value);
}

/** `data` of an event as it was sent, but for members that were moved away. */
async function readData(context: OpsContext, text: string): Promise<JsonObject> {
  const data = await followObject(context, parseJson(text));
  return isJsonObject(data) ? data : {};
}

function blobMembers(data: JsonObject): ReadonlyMap<string, JsonValue> {
  return new Map(
    blobFields.flatMap((field): [string, JsonValue][] => {
      const value = Object.hasOwn(data, field) ? data[field] : undefined;
      return value === undefined || value === null ? [] : [[field, value]];
    }),
  );
}

/** The value itself, or, where it is a reference (D30), what that leads to. */
async function followObject(context: OpsContext, value: JsonValue): Promise<JsonValue> {
  const reference = referenceIn(value);
  if (reference === undefined) return value;
  const bytes = await context.objects.read(reference.sha256);
  return bytes === undefined ? value : parseJson(bytes);
}

function sizeOf(value: JsonValue): number {
  return referenceIn(value)?.bytes ?? Buffer.byteLength(canonicalJson(value));
}

function referenceIn(
  value: JsonValue,
): { readonly sha256: string; readonly bytes: number } | undefined {
  if (!isJsonObject(value) || Object.keys(value).join() !== '$object') return undefined;
  const reference = value['$object'];
  if (reference === undefined || !isJsonObject(reference)) return undefined;
  const { sha256, bytes } = reference;
  return typeof sha256 === 'string' && typeof bytes === 'number' ? { sha256, bytes } : undefined;
}
