import type { Chance } from '#base';
import type { MemoryBytes } from './memory-bytes.ts';

/** What becomes of everything that was not synced when the power goes. */
export interface PowerLoss {
  /** Bytes and sizes of files. `torn`: any part of them, sector by sector, later ones without earlier ones, or a size without its bytes. */
  readonly bytes: 'kept' | 'lost' | 'torn';
  /** Creations, renames and deletions in folders. `mixed`: each one by chance. */
  readonly entries: 'kept' | 'lost' | 'mixed';
  /** Bytes whose sync failed once: a later sync that succeeds says nothing about them. */
  readonly failedSyncs: 'kept' | 'lost';
  readonly chance: Chance;
}

/** A change of a file's content that is not durable yet. */
export type FileChange =
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number };

/** Disks write a sector of this size whole or not at all. */
export const sectorBytes = 512;

export function applyChange(content: MemoryBytes, change: FileChange): void {
  if (change.kind === 'write') content.write(change.offset, change.bytes);
  else content.truncate(change.size);
}

/** What a file holds after the loss: its durable content with those unsynced changes that made it. */
export function contentAfter(
  durable: MemoryBytes,
  changes: readonly FileChange[],
  loss: PowerLoss,
): MemoryBytes {
  const content = durable.copy();
  if (changes.length === 0 || loss.bytes === 'lost') return content;
  const survivors = loss.bytes === 'kept' ? changes : tear(changes, durable, loss.chance);
  for (const change of survivors) applyChange(content, change);
  return content;
}

/** Whether one unsynced entry of a folder made it. */
export function keepsEntry(loss: PowerLoss): boolean {
  return loss.entries === 'kept' || (loss.entries === 'mixed' && loss.chance.float() < 0.5);
}

function tear(
  changes: readonly FileChange[],
  durable: MemoryBytes,
  chance: Chance,
): readonly FileChange[] {
  const pieces = changes.flatMap(sectorsOf);
  const cut = Math.floor(chance.float() * (pieces.length + 1));
  const way = chance.float();
  if (way < 0.4) return pieces.slice(0, cut);
  if (way < 0.6) return pieces.slice(cut);
  if (way < 0.9) return pieces.filter(() => chance.float() < 0.5);
  return [{ kind: 'truncate', size: sizeAfter(changes, durable) }];
}

/** The size reached the disk and the bytes did not: they read as zeros. */
function sizeAfter(changes: readonly FileChange[], durable: MemoryBytes): number {
  return changes.reduce(
    (size, change) =>
      change.kind === 'truncate'
        ? change.size
        : Math.max(size, change.offset + change.bytes.length),
    durable.size,
  );
}

function sectorsOf(change: FileChange): readonly FileChange[] {
  if (change.kind === 'truncate' || change.bytes.length === 0) return [change];
  const pieces: FileChange[] = [];
  for (let at = 0; at < change.bytes.length;) {
    const offset = change.offset + at;
    const next = at + sectorBytes - (offset % sectorBytes);
    pieces.push({ kind: 'write', offset, bytes: change.bytes.subarray(at, next) });
    at = next;
  }
  return pieces;
}

export interface NamedPowerLoss {
  readonly name: string;
  /** The loss at a step; the same step gives the same one, so that a failure can be repeated. */
  at(step: number): PowerLoss;
}

/**
 * The losses that a sweep tries at every step: all four pairs of kept and lost, and `tornCount` torn ones, half of them with failed syncs kept.
 */
export function namedPowerLosses(
  tornCount: number,
  chanceOf: (seed: number) => Chance,
): readonly NamedPowerLoss[] {
  const fixed = (['kept', 'lost'] as const).flatMap((bytes) =>
    (['kept', 'lost'] as const).map((entries) => ({
      name: `bytes ${bytes}, entries ${entries}`,
      at: (step: number): PowerLoss => ({
        bytes,
        entries,
        failedSyncs: bytes,
        chance: chanceOf(step),
      }),
    })),
  );
  const torn = Array.from({ length: tornCount }, (_, seed) => ({
    name: `torn ${seed}`,
    at: (step: number): PowerLoss => ({
      bytes: 'torn',
      entries: seed % 3 === 2 ? 'kept' : 'mixed',
      failedSyncs: seed % 2 === 0 ? 'lost' : 'kept',
      chance: chanceOf((seed + 1) * 1_000_003 + step),
    }),
  }));
  return [...fixed, ...torn];
}
