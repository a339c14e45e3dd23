import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { assert, isMillraceError, messageOf, sha256Hex, systemChance, type Chance } from '#base';
import {
  atomicReplace,
  isStaleStaging,
  makeDurableDirectory,
  parseStagingName,
  stagingNames,
  type Disk,
  type StagingNames,
} from '#disk';
import { objectCorrupt, objectsUnavailable } from './errors.ts';
import type { ObjectStore } from './object-store.ts';
import { ensureMarker } from './store-marker.ts';

export interface LocalObjectsOptions {
  /** `<root>/objects`; the folder above it is there and durable. */
  readonly directory: string;
  readonly disk: Disk;
  readonly chance?: Chance;
  readonly names?: StagingNames;
}

export interface StoredObject {
  readonly sha256: string;
  readonly bytes: number;
  /** When it was put first, epoch ms. */
  readonly putMs: number;
}

export interface LocalObjects extends ObjectStore {
  /** The type that an object was put with; undefined when it is absent. */
  mediaType(sha256: string): Promise<string | undefined>;
  /** Every object, in no order; one that comes or goes meanwhile may be among them or not. */
  each(): AsyncIterable<StoredObject>;
  /** Takes an object away that nobody names any more; one that is gone is fine. */
  remove(sha256: string): Promise<void>;
}

const namespace = 'values';
/** Nearly every value is the JSON of a member of an event (D30); only another type has a file of its own beside the object. */
const mediaTypeUsual = 'application/json';
const mediaTypeSuffix = '.type';
const mediaTypePattern = /^[\x20-\x7e]{1,255}$/;
/** Files open or synced at once. */
const operationsMax = 4;
const sha256Pattern = /^[0-9a-f]{64}$/;

/**
 * Objects as files, `<directory>/values/<first byte>/<sha256>`, that hold the bytes and nothing else: put once, atomic, durable when `put` resolves,
 * checked at every read and at every put of what is there already (P11). A media type other than `application/json` lies beside its object,
 * in `<sha256>.type`. How many bytes wait in `put` at once is its callers' limit.
 * A file system that fails is OBJECTS_UNAVAILABLE: the world's trouble, and no reason to give up a record.
 */
export async function openLocalObjects(options: LocalObjectsOptions): Promise<LocalObjects> {
  const { disk, chance = systemChance } = options;
  const names = options.names ?? stagingNames(process.pid, chance);
  const directory = join(options.directory, namespace);
  await makeDurableDirectory(disk, directory, dirname(options.directory));
  await ensureMarker(disk, directory, names, chance);
  return new Folder(directory, disk, names);
}

class Folder implements LocalObjects {
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #names: StagingNames;
  readonly #limit = pLimit({ concurrency: operationsMax, rejectOnClear: true });
  /** Folders that this process has made durable and swept. */
  readonly #ready = new Map<string, Promise<void>>();
  /** Puts on their way: a second one of the same bytes shares the outcome. */
  readonly #puts = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<unknown>>();
  #isOpen = true;

  constructor(directory: string, disk: Disk, names: StagingNames) {
    this.#directory = directory;
    this.#disk = disk;
    this.#names = names;
  }

  async put(sha256: string, bytes: Uint8Array, mediaType: string): Promise<void> {
    assert(sha256Pattern.test(sha256), `${sha256} is a SHA-256 in hex`);
    assert(sha256Hex(bytes) === sha256, `the bytes are those of ${sha256}`);
    assert(mediaTypePattern.test(mediaType), 'a media type is short and of plain letters');
    const known = this.#puts.get(sha256);
    if (known !== undefined) return known;
    const put = this.#run(sha256, () => this.#put(sha256, bytes, mediaType));
    this.#puts.set(sha256, put);
    try {
      await put;
    } finally {
      this.#puts.delete(sha256);
    }
  }

  async read(sha256: string): Promise<Uint8Array | undefined> {
    if (!sha256Pattern.test(sha256)) return undefined;
    return this.#run(sha256, () => this.#read(sha256));
  }

  async has(sha256: string): Promise<boolean> {
    if (!sha256Pattern.test(sha256)) return false;
    return this.#run(sha256, async () => {
      const stat = await this.#disk.stat(this.#pathOf(sha256));
      return stat !== undefined;
    });
  }

  async mediaType(sha256: string): Promise<string | undefined> {
    if (!(await this.has(sha256))) return undefined;
    return this.#run(sha256, async () => {
      const stored = await this.#disk.readFile(`${this.#pathOf(sha256)}${mediaTypeSuffix}`);
      return stored === undefined ? mediaTypeUsual : Buffer.from(stored).toString('latin1');
    });
  }

  async *each(): AsyncGenerator<StoredObject> {
    for (const shard of await this.#disk.readDirectory(this.#directory)) {
      if (shard.kind !== 'directory') continue;
      const folder = join(this.#directory, shard.name);
      for (const { name } of await this.#disk.readDirectory(folder)) {
        if (!sha256Pattern.test(name)) continue;
        const stat = await this.#disk.stat(join(folder, name));
        if (stat !== undefined) yield { sha256: name, bytes: stat.size, putMs: stat.modifiedMs };
      }
    }
  }

  async remove(sha256: string): Promise<void> {
    if (!sha256Pattern.test(sha256)) return;
    await this.#run(sha256, async () => {
      const path = this.#pathOf(sha256);
      // The object first: one that is there has its type.
      for (const one of [path, `${path}${mediaTypeSuffix}`])
        if ((await this.#disk.stat(one)) !== undefined) await this.#disk.unlink(one);
      if ((await this.#disk.stat(dirname(path))) !== undefined)
        await this.#disk.syncDirectory(dirname(path));
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.allSettled(this.#running);
  }

  #pathOf(sha256: string): string {
    return join(this.#directory, sha256.slice(0, 2), sha256);
  }

  async #run<T>(sha256: string, step: () => Promise<T>): Promise<T> {
    assert(this.#isOpen, 'the object store is open');
    const running = this.#limit(step);
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      if (isMillraceError(error)) throw error;
      throw objectsUnavailable({ sha256, reason: messageOf(error) }, error);
    } finally {
      this.#running.delete(running);
    }
  }

  async #put(sha256: string, bytes: Uint8Array, mediaType: string): Promise<void> {
    const path = this.#pathOf(sha256);
    await this.#makeReady(dirname(path));
    if ((await this.#read(sha256)) !== undefined) {
      // It may have come from a process that died between rename and sync of the folder.
      await this.#disk.syncDirectory(dirname(path));
      return;
    }
    // The type first: an object that is there has its type.
    if (mediaType !== mediaTypeUsual)
      await this.#write(`${path}${mediaTypeSuffix}`, Buffer.from(mediaType, 'latin1'));
    await this.#write(path, bytes);
  }

  /** The name proves bytes and length. */
  async #read(sha256: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#disk.readFile(this.#pathOf(sha256));
    if (bytes === undefined) return undefined;
    const found = sha256Hex(bytes);
    if (found !== sha256)
      throw objectCorrupt({ sha256, reason: `its ${bytes.byteLength} bytes have ${found}` });
    return bytes;
  }

  #write(path: string, bytes: Uint8Array): Promise<void> {
    return atomicReplace(this.#disk, path, bytes, this.#names);
  }

  #makeReady(folder: string): Promise<void> {
    const known = this.#ready.get(folder);
    if (known !== undefined) return known;
    const ready = this.#prepare(folder);
    this.#ready.set(folder, ready);
    ready.catch(() => this.#ready.delete(folder));
    return ready;
  }

  /** Makes the folder, and takes away what another start of the program left half written in it (ING-232). */
  async #prepare(folder: string): Promise<void> {
    await makeDurableDirectory(this.#disk, folder, this.#directory);
    for (const { name } of await this.#disk.readDirectory(folder)) {
      const staging = parseStagingName(join(folder, name));
      if (staging !== undefined && isStaleStaging(staging, this.#names.writer))
        await this.#disk.unlink(join(folder, name));
    }
  }
}
