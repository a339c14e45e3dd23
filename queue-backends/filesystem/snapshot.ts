import { join } from 'node:path';
import { isMillraceError } from '#base';
import { type CopySource, parseStagingName } from '#disk';
import type { QueueTotals } from '#queue';
import type { Key } from '#record';
import { keysOnDisk } from './all-keys.ts';
import { checkpoint } from './checkpoint.ts';
import type { Engine } from './engine.ts';
import { formatName } from './format-file.ts';
import { markerName } from './quarantine.ts';
import { type OffsetRecord, offsetRecordName } from './session/offset-record.ts';

/**
 * The queue at one instant (D31): the journal up to a frame, and the session files as the checkpoint before it left them. What is appended later
 * is in none of them, though it goes on being written. Until `end`, journal and session files only grow.
 */
export interface QueueSnapshot {
  readonly totals: QueueTotals;
  /** Last frame of the snapshot. */
  readonly sequence: number;
  /** From here on the state store may change again: whoever copies it has done so. */
  releaseState(): void;
  /** Every file with a name below the queue's folder, as it was at the instant. */
  files(): AsyncIterable<CopySource>;
  end(): void;
}

export interface SnapshotOptions {
  readonly totals: () => QueueTotals;
  /** Rejects the wait for what runs. */
  readonly signal: AbortSignal;
}

/** Carries the journal into the session files and holds both from then on. The caller has seen to it that no commit is on its way. */
export async function takeSnapshot(
  engine: Engine,
  { totals, signal }: SnapshotOptions,
): Promise<QueueSnapshot> {
  const letGoFiles = await engine.filesGate.hold(signal);
  const letGoState = await engine.stateGate.hold(signal).catch((error: unknown) => {
    letGoFiles();
    throw error;
  });
  const end = (): void => {
    letGoState();
    letGoFiles();
  };
  try {
    await checkpoint(engine);
    // One step: frames, their places and the books are those of the same instant.
    const sequence = engine.journal.durableSequence;
    const segments = engine.journal.extents();
    const books = totals();
    const quarantined: ReadonlySet<Key> = new Set(engine.quarantined);
    const { disk, directory } = engine.options;
    const format = await disk.readFile(join(directory, formatName));
    return {
      totals: books,
      sequence,
      releaseState: letGoState,
      async *files() {
        if (format !== undefined) yield { name: formatName, content: format };
        for (const { name, bytes } of segments)
          yield { name: `journal/${name}`, path: join(directory, 'journal', name), bytes };
        for (const key of await keysOnDisk(engine)) yield* await keyFiles(engine, key, quarantined);
      },
      end,
    };
  } catch (error) {
    end();
    throw error;
  }
}

/** The files of one key, read under its lock: what is made of them is copied later, and only grows. */
async function keyFiles(
  engine: Engine,
  key: Key,
  quarantined: ReadonlySet<Key>,
): Promise<readonly CopySource[]> {
  return engine.locks.with(key, () => listKey(engine, key, quarantined), undefined, 'snapshot');
}

async function listKey(
  engine: Engine,
  key: Key,
  quarantined: ReadonlySet<Key>,
): Promise<readonly CopySource[]> {
  const { disk, directory } = engine.options;
  const folder = engine.files.folderOf(key);
  const below = folder.slice(directory.length + 1).replaceAll('\\', '/');
  const record = await recordOrDamage(engine, key, folder);
  const found: CopySource[] = [];
  for (const { name, kind } of await disk.readDirectory(folder)) {
    const path = join(folder, name);
    if (kind !== 'file' || parseStagingName(path) !== undefined) continue;
    if (name === markerName && !quarantined.has(key)) continue;
    const bytes = await bytesOf(engine, path, name, record);
    if (bytes !== undefined) found.push({ name: `${below}/${name}`, path, bytes });
  }
  return found;
}

/** Damaged records are evidence: such a key is copied as it lies there. */
async function recordOrDamage(
  engine: Engine,
  key: Key,
  folder: string,
): Promise<OffsetRecord | 'damaged' | undefined> {
  try {
    return await engine.records.read(key, folder);
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt') return 'damaged';
    throw error;
  }
}

const epochFile = /^(?:log|generation)\.(\d{6,})\./;

/** How much of a file belongs to the instant; undefined for one that is not of it. */
async function bytesOf(
  engine: Engine,
  path: string,
  name: string,
  record: OffsetRecord | 'damaged' | undefined,
): Promise<number | undefined> {
  const size = (await engine.options.disk.stat(path))?.size ?? 0;
  if (record === 'damaged' || record === undefined) return size;
  const [, generation] = epochFile.exec(name) ?? [];
  const isOfEpoch = generation !== undefined || name === offsetRecordName;
  // The beginning of an epoch that no checkpoint has met: the journal tells it whole, or it came after the instant.
  if (isOfEpoch && record.frame.sequence === 0) return undefined;
  if (!name.startsWith('log.') || generation === undefined) return size;
  // Bytes behind the checkpointed end are told by the journal, or came after the instant.
  return Number(generation) === record.gen ? Math.min(size, record.log_end - record.base) : size;
}
