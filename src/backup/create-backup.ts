import { basename, dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { isMillraceError, messageOf, type Chance, type Clock } from '#base';
import {
  copyFile,
  digestFile,
  failpoint,
  isStaleStaging,
  listTree,
  parseStagingName,
  removeTree,
  syncTree,
  type CopiedFile,
  type CopySource,
  type Disk,
  type StagingNames,
} from '#disk';
import { backupFailed, backupPathRefused } from './errors.ts';
import { formatManifest, manifestFormat, manifestName, type Manifest } from './manifest.ts';
import type { BackupProgress, BackupSources, FrozenRoot } from './sources.ts';

export interface CreateOrder {
  /** Absolute; not there yet, in a folder that is. */
  readonly path: string;
  readonly sources: BackupSources;
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly product: string;
  /** Ends it at a border between two files. */
  readonly signal: AbortSignal;
  tell(progress: BackupProgress): void;
}

/** Files copied at once. */
const copiesAtOnce = 8;

/**
 * Makes a backup of a root as it is at one instant (D31). It is staged beside its place, synced, and named as a whole at the end: half a backup
 * has another name and no manifest. Errors: BACKUP_PATH_REFUSED (`reject`), BACKUP_FAILED (`retry`), what the stores reject with.
 */
export async function createBackup(order: CreateOrder): Promise<Manifest> {
  const { path, disk, names } = order;
  if ((await disk.stat(path)) !== undefined)
    throw backupPathRefused({ path, reason: 'something is there already' });
  if ((await disk.stat(dirname(path)))?.kind !== 'directory')
    throw backupPathRefused({ path, reason: `${dirname(path)} is no folder` });
  await sweepStale(order);
  const staging = names.nextFor(path);
  try {
    await disk.makeDirectory(staging);
    const manifest = await new Copying(order, staging).run();
    await failpoint('backup:before-rename');
    await disk.rename(staging, path);
    await disk.syncDirectory(dirname(path));
    return manifest;
  } catch (error) {
    await removeTree(staging);
    if (isMillraceError(error)) throw error;
    throw backupFailed({ path, reason: messageOf(error) }, error);
  }
}

/** What a process that was killed has left of a backup of this name. */
async function sweepStale({ path, disk, names }: CreateOrder): Promise<void> {
  const folder = dirname(path);
  for (const { name } of await disk.readDirectory(folder)) {
    if (!name.startsWith(basename(path))) continue;
    const staging = parseStagingName(join(folder, name));
    if (staging?.target === path && isStaleStaging(staging, names.writer))
      await removeTree(join(folder, name));
  }
}

class Copying {
  readonly #order: CreateOrder;
  readonly #staging: string;
  readonly #copied: CopiedFile[] = [];
  #bytes = 0;

  constructor(order: CreateOrder, staging: string) {
    this.#order = order;
    this.#staging = staging;
  }

  async run(): Promise<Manifest> {
    const { sources, signal, clock, chance, product, disk } = this.#order;
    this.#tell('waiting for an instant');
    const frozen = await sources.freeze(signal);
    const createdAt = new Date(clock.now()).toISOString();
    const graph = await this.#frozenParts(frozen);
    await this.#objects();
    await this.#rest();
    const { rootId, keyEncoding, isLab, generation, books, graphId } = frozen;
    const manifest: Manifest = {
      format: manifestFormat,
      backupId: chance.uuid(),
      product,
      createdAt,
      rootId,
      keyEncoding,
      isLab,
      generation,
      books,
      graph: { graphId, ...graph },
      files: this.#copied.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    };
    this.#tell('syncing');
    await syncTree(disk, this.#staging);
    await failpoint('backup:before-manifest');
    const content = formatManifest(manifest);
    await copyFile(disk, { name: manifestName, content }, this.#staging);
    await disk.syncDirectory(this.#staging);
    return manifest;
  }

  /** The state first: until it is copied no id is carried into it. */
  async #frozenParts(
    frozen: FrozenRoot,
  ): Promise<{ readonly digest: string; readonly nodes: number; readonly edges: number }> {
    const { disk, path } = this.#order;
    const place = (...parts: readonly string[]): string => join(this.#staging, ...parts);
    try {
      this.#tell('state');
      await disk.makeDirectory(place('state', 'daemon'));
      await frozen.copyState(place('state', 'daemon'));
      await this.#takeWritten('state/daemon/data.mdb');
      this.#tell('control');
      await disk.makeDirectory(place('control'));
      frozen.copyControl(place('control', 'control.db'));
      await this.#takeWritten('control/control.db');
      this.#tell('graph');
      await disk.makeDirectory(place('graph'));
      const { digest, nodes, edges } = await frozen.copyGraph(place('graph', 'graph.db'));
      await this.#takeWritten('graph/graph.db');
      this.#tell('queue');
      await this.#copyAll(inFolder('queue', frozen.queueFiles()));
      return { digest, nodes, edges };
    } catch (error) {
      if (isMillraceError(error)) throw error;
      throw backupFailed({ path, reason: messageOf(error) }, error);
    } finally {
      await frozen.end();
    }
  }

  async #objects(): Promise<void> {
    const { sources, disk } = this.#order;
    this.#tell('objects');
    const { files } = await listTree(disk, sources.objects);
    const wanted = files.filter(
      (name) => parseStagingName(join(sources.objects, name)) === undefined,
    );
    await this.#copyAll(inFolder('objects', filesOf(disk, sources.objects, wanted)));
  }

  async #rest(): Promise<void> {
    const { sources, disk } = this.#order;
    const tokens = await disk.readFile(sources.tokens);
    if (tokens !== undefined) await this.#copy({ name: 'tokens.json', content: tokens });
    const settings = Buffer.from(`${JSON.stringify(sources.settings, null, 2)}\n`, 'utf8');
    await this.#copy({ name: 'settings.json', content: settings });
  }

  /** A file that a store has written itself: synced here, and its digest is that of what is on the disk. */
  async #takeWritten(name: string): Promise<void> {
    const { disk, path } = this.#order;
    const full = join(this.#staging, ...name.split('/'));
    const file = await disk.open(full, 'write');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    const found = await digestFile(disk, full);
    if (found === undefined) throw backupFailed({ path, reason: `${name} was not written` });
    this.#take({ name, ...found });
  }

  async #copyAll(sources: AsyncIterable<CopySource>): Promise<void> {
    const limit = pLimit(copiesAtOnce);
    const running = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    for await (const source of sources) {
      this.#order.signal.throwIfAborted();
      if (failure !== undefined) break;
      const one = limit(() => this.#copy(source))
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= 4 * copiesAtOnce) await Promise.race(running);
    }
    await Promise.all(running);
    if (failure !== undefined) throw failure.error;
  }

  async #copy(source: CopySource): Promise<void> {
    this.#take(await copyFile(this.#order.disk, source, this.#staging));
  }

  #take(file: CopiedFile): void {
    this.#copied.push(file);
    this.#bytes += file.bytes;
    this.#tell(file.name.split('/', 1)[0] ?? file.name);
  }

  #tell(step: string): void {
    this.#order.tell({ step, files: this.#copied.length, bytes: this.#bytes });
  }
}

async function* inFolder(
  folder: string,
  sources: AsyncIterable<CopySource>,
): AsyncGenerator<CopySource> {
  for await (const source of sources) yield { ...source, name: `${folder}/${source.name}` };
}

async function* filesOf(
  disk: Disk,
  folder: string,
  names: readonly string[],
): AsyncGenerator<CopySource> {
  for (const name of names) {
    const path = join(folder, ...name.split('/'));
    const stat = await disk.stat(path);
    if (stat !== undefined) yield { name, path, bytes: stat.size };
  }
}
