import { canonicalJson, type JsonObject, type JsonValue } from '#base';
import type { Properties, PropertyValue } from './mutation.ts';
import { storedJson } from './stored-json.ts';

/**
 * The canonical lines of D26: one per node, then one per edge, each ended by a line feed. Members stand in the order of RFC 8785. Properties
 * come as canonical text, so that a store that keeps them so need not parse them.
 */
export interface NodeLine {
  readonly workspace: string;
  readonly id: string;
  /** Sorted, without `Node`. */
  readonly labels: readonly string[];
  /** From `exportedText`. */
  readonly properties: string;
}

export interface EdgeLine {
  readonly workspace: string;
  readonly from: string;
  readonly type: string;
  readonly to: string;
  /** From `exportedEdgeText`. */
  readonly properties: string;
}

export function nodeLine(node: NodeLine): string {
  const { id, labels, properties, workspace } = node;
  return `{"node":{"id":${JSON.stringify(id)},"labels":${JSON.stringify(labels)},"properties":${properties},"workspace":${JSON.stringify(workspace)}}}\n`;
}

export function edgeLine(edge: EdgeLine): string {
  const { from, type, to, properties, workspace } = edge;
  return `{"edge":{"from":${JSON.stringify(from)},"properties":${properties},"to":${JSON.stringify(to)},"type":${JSON.stringify(type)},"workspace":${JSON.stringify(workspace)}}}\n`;
}

/**
 * Quotes inside a JSON string are escaped, so this text can only be a time. Times are stored apart from text and exported as text.
 */
const storedTime = /\{"\$time":("[^"]*")\}/g;

/** Canonical text of properties, as exported, from the canonical text as stored. */
export function exportedText(stored: string): string {
  return stored.includes('"$time"') ? stored.replace(storedTime, '$1') : stored;
}

/** An edge's properties with its time among them. */
export function exportedEdgeText(stored: string, occurredAt: string | undefined): string {
  if (occurredAt === undefined) return exportedText(stored);
  const properties = storedJson<JsonObject>(stored);
  return exportedText(canonicalJson({ ...properties, occurred_at: occurredAt }));
}

/** A property as queries and export show it. */
export function shownValue(value: PropertyValue): JsonValue {
  return typeof value === 'object' && '$time' in value ? value.$time : (value as JsonValue);
}

export function shownProperties(properties: Properties): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, shownValue(value)]),
  );
}
