import type { Mutation, PropertyValue } from '#graph';

/** What a row costs beside its texts. */
const mutationBytes = 96;
const propertyBytes = 24;

/** About what a store has to write for these mutations, for the limit of a transaction (ING-854); texts count as their UTF-16 units. */
export function estimateBytes(mutations: readonly Mutation[]): number {
  let bytes = 0;
  for (const mutation of mutations) {
    bytes += mutationBytes;
    if (mutation.kind !== 'node' && mutation.kind !== 'edge') continue;
    for (const name of Object.keys(mutation.properties)) {
      const value = mutation.properties[name];
      bytes += propertyBytes + name.length + (value === undefined ? 0 : valueBytes(value));
    }
  }
  return bytes;
}

function valueBytes(value: PropertyValue): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || '$time' in value) return propertyBytes;
  return value.reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 8), 0);
}
