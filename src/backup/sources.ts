import type { CopySource } from '#disk';
import type { GraphDigest } from '#graph';
import type { KeyEncoding } from '#record';
import type { BackupBooks } from './manifest.ts';

/** A root at one instant, without a group in flight, while it goes on taking events (D31). */
export interface FrozenRoot {
  readonly rootId: string;
  readonly keyEncoding: KeyEncoding;
  readonly isLab: boolean;
  readonly graphId: string;
  readonly generation: number;
  readonly books: BackupBooks;
  /** Into an empty folder; from then on ids are carried into the state store again. */
  copyState(directory: string): Promise<void>;
  copyControl(path: string): void;
  copyGraph(path: string): Promise<GraphDigest>;
  /** Of the queue, with names below its folder. Its checkpoint waits until `end`. */
  queueFiles(): AsyncIterable<CopySource>;
  end(): Promise<void>;
}

/** What a backup is made of; put together in room daemon. */
export interface BackupSources {
  /** Rejects with the signal's reason when what runs does not come to a border. */
  freeze(signal: AbortSignal): Promise<FrozenRoot>;
  /** The object store's folder: what is in it is put once, so it needs no instant. */
  readonly objects: string;
  /** Of the tokens, kept as digests; the file need not be there. */
  readonly tokens: string;
  /** Settings that differ from their defaults, secrets left out: for people, never restored. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** How far a backup or a restore is. */
export interface BackupProgress {
  readonly step: string;
  readonly files: number;
  readonly bytes: number;
}
