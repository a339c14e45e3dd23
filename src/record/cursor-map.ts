import type { Cursor, CursorEntry, CursorMap } from './cursor.ts';

/**
 * Bounds of a cursor's maps (ING-212). Constants and not settings: what was evicted decides ids, and two daemons with other settings would
 * build two graphs from the same events (P12).
 */
export const mapEntriesMax = 4096;
/** UTF-8 bytes, roughly, of all maps together; `cursor.max_bytes` is 256 KiB for the whole cursor. */
export const mapBytesMax: number = 192 * 1024;
/** The overhead of one entry: quotes, brackets, commas and its number. */
const entryBytes = 16;

/** The value stored under a key; safe for keys such as `constructor`. */
export function readEntry<V>(map: CursorMap<V>, key: string): V | undefined {
  return Object.hasOwn(map, key) ? map[key]?.[1] : undefined;
}

/** A map with the entry set; above `entriesMax` the oldest others go. */
export function withEntry<V>(
  map: CursorMap<V>,
  key: string,
  entry: CursorEntry<V>,
  entriesMax: number = mapEntriesMax,
): CursorMap<V> {
  const kept: [string, CursorEntry<V>][] = Object.entries(map).filter(([other]) => other !== key);
  while (kept.length >= Math.max(1, entriesMax)) kept.splice(oldestIndex(kept), 1);
  return Object.fromEntries([...kept, [key, entry]]);
}

/** One goes at a time as a rule, so a scan is cheaper than an order. */
function oldestIndex(entries: readonly Entry[]): number {
  let oldest = 0;
  for (let at = 1; at < entries.length; at += 1) {
    const [a, b] = [entries[at], entries[oldest]];
    if (a !== undefined && b !== undefined && isOlder(a, b)) oldest = at;
  }
  return oldest;
}

type Entry = readonly [key: string, entry: CursorEntry<unknown>];

/** Equal numbers are told apart by the key. */
function isOlder([keyA, [seqA]]: Entry, [keyB, [seqB]]: Entry): boolean {
  return seqA === seqB ? keyA < keyB : seqA < seqB;
}

/** A map without the entry; the same map when there is none. */
export function withoutEntry<V>(map: CursorMap<V>, key: string): CursorMap<V> {
  return Object.hasOwn(map, key) ? withoutEntries(map, [key]) : map;
}

/**
 * The cursor with its maps cut down until they fit, oldest entries of the largest map first. Called when a map has grown; costs one pass over
 * the maps. What it cuts is a pure function of the cursor.
 */
export function fitCursor(cursor: Cursor, bytesMax: number = mapBytesMax): Cursor {
  const maps = mapsOf(cursor).map((place) => ({ ...place, size: mapBytes(place.map) }));
  let total = maps.reduce((sum, { size }) => sum + size, 0);
  if (total <= bytesMax) return cursor;
  const layers = { layer2: { ...cursor.layer2 }, layer3: { ...cursor.layer3 } };
  for (const { layer, name, map, size } of maps.sort(bySize)) {
    if (total <= bytesMax) break;
    const cut = cutMap(map, Math.max(0, size - (total - bytesMax)));
    total -= size - mapBytes(cut);
    Object.assign(layers[layer], { [name]: cut });
  }
  return { ...cursor, ...layers };
}

interface MapPlace {
  readonly layer: 'layer2' | 'layer3';
  readonly name: string;
  readonly map: CursorMap<unknown>;
}

/** Largest first; names decide between equals. */
function bySize(
  a: MapPlace & { readonly size: number },
  b: MapPlace & { readonly size: number },
): number {
  return b.size - a.size || (a.name < b.name ? -1 : 1);
}

function mapsOf({ layer2, layer3 }: Cursor): readonly MapPlace[] {
  return [
    { layer: 'layer2', name: 'run_seq_by_ts', map: layer2.run_seq_by_ts },
    { layer: 'layer2', name: 'placeholder_iterations', map: layer2.placeholder_iterations },
    { layer: 'layer2', name: 'pending_tool_blocks', map: layer2.pending_tool_blocks },
    { layer: 'layer2', name: 'tool_groups', map: layer2.tool_groups },
    { layer: 'layer3', name: 'parallel_groups', map: layer3.parallel_groups },
    { layer: 'layer3', name: 'skills', map: layer3.skills },
    { layer: 'layer3', name: 'begun', map: layer3.begun },
  ];
}

/** Newest entries as long as they fit. */
function cutMap(map: CursorMap<unknown>, bytesMax: number): CursorMap<unknown> {
  let kept = 0;
  const dropped: string[] = [];
  for (const key of oldestKeys(map).reverse()) {
    kept += entrySize(key, map[key]);
    if (kept > bytesMax) dropped.push(key);
  }
  return withoutEntries(map, dropped);
}

/** Keys from the oldest to the newest. */
function oldestKeys(map: CursorMap<unknown>): string[] {
  return Object.entries(map)
    .sort((a, b) => (isOlder(a, b) ? -1 : 1))
    .map(([key]) => key);
}

function withoutEntries<V>(map: CursorMap<V>, keys: readonly string[]): CursorMap<V> {
  const gone = new Set(keys);
  return Object.fromEntries(Object.entries(map).filter(([key]) => !gone.has(key)));
}

function mapBytes(map: CursorMap<unknown>): number {
  let bytes = 0;
  for (const [key, entry] of Object.entries(map)) bytes += entrySize(key, entry);
  return bytes;
}

function entrySize(key: string, entry: CursorEntry<unknown> | undefined): number {
  const value = entry?.[1];
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return Buffer.byteLength(key) + Buffer.byteLength(text) + entryBytes;
}
