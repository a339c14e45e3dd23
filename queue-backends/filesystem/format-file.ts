import { dirname, join } from 'node:path';
import { formatTooNew, messageOf } from '#base';
import { atomicReplace, makeDurableDirectory, type Disk } from '#disk';
import type { RestoredFrom } from '#queue';
import type { FilesystemQueueOptions } from './engine.ts';
import { queueForeign } from './errors.ts';

export const formatName = 'format.json';
const formatVersion = 1;
const keyEncoding = 1;

/** `format.json`: which root and graph the folder belongs to, and in which form it is written (ING spec §4.1). */
export interface FormatFile {
  readonly format: number;
  readonly root_id: string;
  /** Null until the root has met its graph (ING-540). */
  readonly graph_id: string | null;
  readonly created_at: string;
  readonly key_encoding: number;
  /** From `backup restore` to the end of the adopt that follows it (ING-542). */
  readonly restored?: { readonly backup_id: string; readonly root_id: string };
}

/** Makes the folder of a new root, or reads what a known one says. A newer form is refused by name, an unknown folder is never touched. */
export async function prepareFolder(options: FilesystemQueueOptions): Promise<FormatFile> {
  const { disk, directory, names } = options;
  const path = join(directory, formatName);
  await makeDurableDirectory(disk, directory, dirname(directory));
  const bytes = await disk.readFile(path);
  const known = bytes === undefined ? await newFormat(options) : parseFormat(options, bytes);
  // A root that has met no graph takes the id of the one that it meets; from then on another is noticed (ING-540, ING-541).
  const format: FormatFile = { ...known, graph_id: known.graph_id ?? options.graphId ?? null };
  if (bytes === undefined || format.graph_id !== known.graph_id)
    await atomicReplace(disk, path, formatBytes(format), names);
  // A process that was killed may have left the name in the cache alone.
  else await disk.syncDirectory(directory);
  for (const name of ['journal', 'sessions'])
    await makeDurableDirectory(disk, join(directory, name), directory);
  return format;
}

export function formatBytes(format: FormatFile): Uint8Array {
  return Buffer.from(`${JSON.stringify(format, null, 2)}\n`);
}

/** The root belongs to this graph from now on, and a restore is over (ING-542). */
export async function bindFormat(
  options: FilesystemQueueOptions,
  graphId: string,
): Promise<FormatFile> {
  const { disk, directory, names } = options;
  const path = join(directory, formatName);
  const bytes = await disk.readFile(path);
  if (bytes === undefined) throw queueForeign({ directory, reason: `${formatName} is gone` });
  const { restored: _over, ...kept } = parseFormat(options, bytes);
  const format: FormatFile = { ...kept, graph_id: graphId };
  await atomicReplace(disk, path, formatBytes(format), names);
  return format;
}

/** Which graph a queue folder belongs to, and whether it was restored and not started since; undefined where it does not say. Errors: as parseFormat. */
export async function readQueueBond(
  disk: Disk,
  directory: string,
  rootId: string,
): Promise<
  { readonly graphId: string | null; readonly restoredFrom: RestoredFrom | null } | undefined
> {
  const bytes = await disk.readFile(join(directory, formatName));
  if (bytes === undefined) return undefined;
  const format = parseFormat({ directory, rootId }, bytes);
  return { graphId: format.graph_id, restoredFrom: restoredFromOf(format) };
}

/** Gives the folder of a restored queue to its new root, with the mark by which its next start adopts the graph. */
export async function rebindQueueFolder(
  { disk, names }: Pick<FilesystemQueueOptions, 'disk' | 'names'>,
  directory: string,
  rootId: string,
  from: RestoredFrom,
): Promise<void> {
  const path = join(directory, formatName);
  const bytes = await disk.readFile(path);
  if (bytes === undefined) throw queueForeign({ directory, reason: `${formatName} is missing` });
  const known = parseFormat({ directory, rootId: from.rootId }, bytes);
  const restored = { backup_id: from.backupId, root_id: from.rootId };
  const format: FormatFile = { ...known, root_id: rootId, restored };
  await atomicReplace(disk, path, formatBytes(format), names);
}

export function restoredFromOf({ restored }: FormatFile): RestoredFrom | null {
  if (restored === undefined) return null;
  return { backupId: restored.backup_id, rootId: restored.root_id };
}

async function newFormat(options: FilesystemQueueOptions): Promise<FormatFile> {
  const { disk, directory, rootId, clock } = options;
  for (const name of ['journal', 'sessions'])
    if ((await disk.readDirectory(join(directory, name))).length > 0)
      throw queueForeign({ directory, reason: `it has ${name}/ and no format.json` });
  return {
    format: formatVersion,
    root_id: rootId,
    graph_id: null,
    created_at: new Date(clock.now()).toISOString(),
    key_encoding: keyEncoding,
  };
}

/** FORMAT_TOO_NEW for a newer form, QUEUE_FOREIGN for what is not the queue of this root. */
export function parseFormat(
  { directory, rootId }: Pick<FilesystemQueueOptions, 'directory' | 'rootId'>,
  bytes: Uint8Array,
): FormatFile {
  let format: FormatFile;
  try {
    format = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as FormatFile;
  } catch (error) {
    throw queueForeign({ directory, reason: `format.json: ${messageOf(error)}` }, error);
  }
  const { format: found, root_id: owner, key_encoding: encoding } = format;
  if (!Number.isSafeInteger(found))
    throw queueForeign({ directory, reason: 'format.json names no format' });
  if (found > formatVersion)
    throw formatTooNew({ thing: `the queue ${directory}`, found, known: formatVersion });
  if (encoding > keyEncoding)
    throw formatTooNew({ thing: `the keys of ${directory}`, found: encoding, known: keyEncoding });
  if (owner !== rootId) throw queueForeign({ directory, reason: `it is of root ${owner}` });
  return format;
}
