import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { canonicalJson, crc32cHex, type Clock, type JsonValue } from '#base';
import type { Disk, DiskFile, StagingNames } from '#disk';
import { atomicReplace } from '#disk';
import type { Cursor, Key } from '#record';
import type { KeyState, TailLine } from './key-state.ts';

/** The immutable description of one log generation (ING-815). */
export interface GenerationFile {
  readonly v: 1;
  readonly workspace: string;
  readonly session_id: string;
  readonly epoch: string;
  readonly ordinal: number;
  readonly gen: number;
  readonly base: number;
  readonly cursor: Cursor | null;
  /** Digest of the record before `base`; null at the start of an epoch (ING-541). */
  readonly sha256_before: string | null;
}

export interface SessionFilesOptions {
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  /** `<root>/queue/sessions` */
  readonly directory: string;
}

/** Open handles of session logs (QFS-15). */
const handlesMax = 256;
/** Lines stay in memory for the drain after they were written, up to this many bytes per key. */
const warmTailBytesMax = 256 * 1024;

/** The per-session files: filled lazily from what the journal holds, read always (QFS-10). */
export class SessionFiles {
  readonly #options: SessionFilesOptions;
  /** Least recently used first. */
  readonly #handles = new Map<string, Promise<DiskFile>>();
  readonly #pinned = new Map<string, number>();

  constructor(options: SessionFilesOptions) {
    this.#options = options;
  }

  /** `<sessions>/<hh>/<key>`; hh is the first byte of the key's SHA-256: 256 shards. */
  folderOf(key: Key): string {
    return join(
      this.#options.directory,
      createHash('sha256').update(key).digest('hex').slice(0, 2),
      key,
    );
  }

  logPath(key: Key, gen: number): string {
    return join(this.folderOf(key), `log.${String(gen).padStart(6, '0')}.jsonl`);
  }

  generationPath(key: Key, gen: number): string {
    return join(this.folderOf(key), `generation.${String(gen).padStart(6, '0')}.json`);
  }

  /** Makes the folder with its generation file; the offset record follows before the log (ING-125). */
  async makeFolder(state: KeyState): Promise<void> {
    const { disk, names } = this.#options;
    await disk.makeDirectory(this.folderOf(state.key));
    const content: GenerationFile = {
      v: 1,
      workspace: state.workspace,
      session_id: state.session,
      epoch: state.epoch,
      ordinal: state.ordinal,
      gen: state.gen,
      base: state.base,
      cursor: state.baseCursor,
      sha256_before: state.applied?.sha256 ?? null,
    };
    const crc = crc32cHex(Buffer.from(canonicalJson(content as unknown as JsonValue), 'utf8'));
    const bytes = Buffer.from(`${JSON.stringify({ ...content, crc })}\n`, 'utf8');
    await atomicReplace(disk, this.generationPath(state.key, state.gen), bytes, names);
    state.hasFolder = true;
  }

  /** Undefined when absent or unreadable: its reader then has nothing to stand on. */
  async readGeneration(key: Key, gen: number): Promise<GenerationFile | undefined> {
    const bytes = await this.#options.disk.readFile(this.generationPath(key, gen));
    if (bytes === undefined) return undefined;
    try {
      const { crc, ...content } = JSON.parse(
        new TextDecoder('utf-8', { fatal: true }).decode(bytes),
      ) as GenerationFile & { crc?: string };
      const expected = crc32cHex(
        Buffer.from(canonicalJson(content as unknown as JsonValue), 'utf8'),
      );
      return crc === expected ? content : undefined;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  /** Writes the lines that the log does not hold yet, unsynced. Only durable lines ever come here (QFS-10). */
  async fill(state: KeyState): Promise<void> {
    const from = state.filledTo;
    const lines = state.tail.filter(({ offset }) => offset >= from);
    const last = lines.at(-1);
    if (last === undefined) return;
    const path = this.logPath(state.key, state.gen);
    await this.#withHandle(path, (file) =>
      file.writeAt(
        lines.map(({ bytes }) => bytes),
        from - state.base,
      ),
    );
    state.filledTo = last.offset + last.bytes.length;
    trimTail(state);
  }

  async sync(state: KeyState): Promise<void> {
    await this.#withHandle(this.logPath(state.key, state.gen), (file) => file.sync());
  }

  /** Bytes of the log from a logical offset; shorter at the end. */
  async read(state: KeyState, offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let read = 0;
    await this.#withHandle(this.logPath(state.key, state.gen), async (file) => {
      while (read < length) {
        const count = await file.readAt(buffer.subarray(read), offset - state.base + read);
        if (count === 0) break;
        read += count;
      }
    });
    return buffer.subarray(0, read);
  }

  async logBytes(state: KeyState): Promise<number> {
    const stat = await this.#options.disk.stat(this.logPath(state.key, state.gen));
    return stat?.size ?? 0;
  }

  async truncate(state: KeyState, offset: number): Promise<void> {
    await this.#withHandle(this.logPath(state.key, state.gen), (file) =>
      file.truncate(offset - state.base),
    );
  }

  /** Makes names below the folder, its shard and the shards' folder durable. */
  async syncFolder(key: Key): Promise<void> {
    const folder = this.folderOf(key);
    for (const path of [folder, dirname(folder), this.#options.directory])
      await this.#options.disk.syncDirectory(path);
  }

  async close(): Promise<void> {
    const open = [...this.#handles.values()];
    this.#handles.clear();
    for (const handle of open) await (await handle).close();
  }

  async #withHandle<T>(path: string, use: (file: DiskFile) => Promise<T>): Promise<T> {
    let handle = this.#handles.get(path);
    if (handle === undefined) {
      handle = this.#options.disk.open(path, 'write');
      handle.catch(() => this.#handles.delete(path));
    } else this.#handles.delete(path);
    this.#handles.set(path, handle);
    this.#pinned.set(path, (this.#pinned.get(path) ?? 0) + 1);
    try {
      return await use(await handle);
    } finally {
      const left = (this.#pinned.get(path) ?? 1) - 1;
      if (left === 0) this.#pinned.delete(path);
      else this.#pinned.set(path, left);
      await this.#shrink();
    }
  }

  async #shrink(): Promise<void> {
    for (const [path, handle] of this.#handles) {
      if (this.#handles.size <= handlesMax) return;
      if (this.#pinned.has(path)) continue;
      this.#handles.delete(path);
      await (await handle).close();
    }
  }
}

/** Forgets lines that the log holds and the drain has passed, or that are more than a warm tail. */
export function trimTail(state: KeyState): void {
  let drop = 0;
  let bytes = state.tailBytes;
  for (const line of state.tail) {
    const end = line.offset + line.bytes.length;
    if (end > state.filledTo || (end > state.committed && bytes <= warmTailBytesMax)) break;
    bytes -= line.bytes.length;
    drop++;
  }
  if (drop === 0) return;
  state.tail.splice(0, drop);
  state.tailBytes = bytes;
}

export function addToTail(state: KeyState, line: TailLine): void {
  state.tail.push(line);
  state.tailBytes += line.bytes.length;
}
