/** Longest label; two longer names that begin alike share one, the `event_name` property tells them apart. */
const labelLengthMax = 200;

/**
 * Labels of an event's node: `tool:pre` is `ToolPreEvent`, `ToolEvent` and `Event`. The name is parted at `:` and `_` as in the predecessor;
 * at every other character that no label can hold it is parted too, where the predecessor failed (PN-23, G12).
 */
export function eventLabels(event: string): readonly string[] {
  const known = labelsOf.get(event);
  if (known !== undefined) return known;
  const labels = madeLabels(event);
  if (labelsOf.size >= namesMax) labelsOf.clear();
  labelsOf.set(event, labels);
  return labels;
}

/** Clients have some dozens of names, and making labels of one costs as much as a fifth of a fold. */
const labelsOf = new Map<string, readonly string[]>();
const namesMax = 1000;

function madeLabels(event: string): readonly string[] {
  const lastColon = event.lastIndexOf(':');
  const category = lastColon < 0 ? event : event.slice(0, lastColon);
  return [...new Set([labelOf(event), labelOf(category), 'Event'])].sort();
}

function labelOf(name: string): string {
  const parts = name.split(/[^A-Za-z0-9]+/).filter((part) => part !== '');
  const joined = parts.map(capitalised).join('').slice(0, labelLengthMax);
  return /^[0-9]/.test(joined) ? `_${joined}Event` : `${joined}Event`;
}

function capitalised(part: string): string {
  return part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase();
}
