import { hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { atomicReplace, type Disk, type DiskFile, type StagingNames } from '#disk';
import type { Key } from '#record';
import {
  decodeGeneration,
  encodeGeneration,
  generationOf,
  type GenerationFile,
} from './generation-file.ts';
import type { KeyState } from './key-state.ts';
import { LogHandles } from './log-handles.ts';
import { trimTail } from './tail.ts';
import type { TailLine } from './tail-memory.ts';

export interface SessionFilesOptions {
  readonly disk: Disk;
  readonly names: StagingNames;
  /** `<root>/queue/sessions` */
  readonly directory: string;
  /** Logs kept open; 256 where it is not given. */
  readonly handlesMax?: number;
}

/** A file of one log generation. */
export interface GenerationEntry {
  readonly gen: number;
  readonly kind: 'log' | 'description';
  readonly path: string;
}

const copyBytes = 1024 * 1024;
const generationPattern = /^(log|generation)\.(\d{6,})\.jsonl?$/;

/** The per-session files: filled lazily from what the journal holds, read always (QFS-10). */
export class SessionFiles {
  readonly #options: SessionFilesOptions;
  readonly #handles: LogHandles;

  constructor(options: SessionFilesOptions) {
    this.#options = options;
    this.#handles = new LogHandles(options.disk, options.handlesMax);
  }

  get openHandles(): number {
    return this.#handles.size;
  }

  /** `<sessions>/<hh>/<key>`; hh is the first byte of the key's SHA-256: 256 shards. */
  folderOf(key: Key): string {
    const shard = hash('sha256', key, 'hex').slice(0, 2);
    return join(this.#options.directory, shard, key);
  }

  logPath(key: Key, gen: number): string {
    return join(this.folderOf(key), `log.${String(gen).padStart(6, '0')}.jsonl`);
  }

  generationPath(key: Key, gen: number): string {
    return join(this.folderOf(key), `generation.${String(gen).padStart(6, '0')}.json`);
  }

  /** Makes the folder with its generation file; the offset record follows before the log (ING-125). */
  async makeFolder(state: KeyState): Promise<void> {
    const { disk } = this.#options;
    await disk.makeDirectory(this.folderOf(state.key));
    await this.writeGeneration(state.key, generationOf(state));
  }

  /** Durable when it resolves (ING-815). */
  async writeGeneration(key: Key, content: GenerationFile): Promise<void> {
    const { disk, names } = this.#options;
    const path = this.generationPath(key, content.gen);
    await atomicReplace(disk, path, encodeGeneration(content), names);
  }

  /** Undefined when absent or unreadable: its reader then has nothing to stand on. */
  async readGeneration(key: Key, gen: number): Promise<GenerationFile | undefined> {
    const bytes = await this.#options.disk.readFile(this.generationPath(key, gen));
    return bytes === undefined ? undefined : decodeGeneration(bytes);
  }

  /** Writes the lines that the log does not hold yet, unsynced. Only durable lines ever come here (QFS-10). */
  async fill(state: KeyState): Promise<void> {
    const lines = linesFrom(state.tail, state.filledTo);
    const first = lines.at(0);
    const last = lines.at(-1);
    if (first === undefined || last === undefined) return;
    const path = this.logPath(state.key, state.gen);
    await this.#handles.with(path, (file) =>
      file.writeAt(
        lines.map(({ bytes }) => bytes),
        first.offset - state.base,
      ),
    );
    state.filledTo = last.offset + last.bytes.length;
    trimTail(state);
  }

  async sync(state: KeyState): Promise<void> {
    const path = this.logPath(state.key, state.gen);
    try {
      await this.#handles.with(path, (file) => file.sync());
    } catch (error) {
      state.isLogSuspect = true;
      throw error;
    }
  }

  /** Bytes of the log from a logical offset; shorter at the end. */
  async read(state: KeyState, offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let read = 0;
    await this.#handles.with(this.logPath(state.key, state.gen), async (file) => {
      while (read < length) {
        const count = await file.readAt(buffer.subarray(read), offset - state.base + read);
        if (count === 0) break;
        read += count;
      }
    });
    return buffer.subarray(0, read);
  }

  /** Logical end of the log file; the base when there is none. */
  async logEnd(state: KeyState): Promise<number> {
    const stat = await this.#options.disk.stat(this.logPath(state.key, state.gen));
    return state.base + (stat?.size ?? 0);
  }

  /** Makes a log that is too short as long as it must be, with zeros, durably: positions are never given twice. */
  async extend(state: KeyState, offset: number): Promise<void> {
    await this.#handles.with(this.logPath(state.key, state.gen), async (file) => {
      await file.truncate(offset - state.base);
      await file.sync();
    });
    await this.#options.disk.syncDirectory(this.folderOf(state.key));
  }

  async truncate(state: KeyState, offset: number): Promise<void> {
    await this.#handles.with(this.logPath(state.key, state.gen), (file) =>
      file.truncate(offset - state.base),
    );
  }

  /**
   * Puts a new log in the place of one whose sync failed: what was synced before, copied, and the lines behind it as the journal has them
   * (QFS-11). Durable when it resolves; the old file stays in its place until then.
   */
  async replaceLog(state: KeyState, lines: readonly Uint8Array[]): Promise<void> {
    const { disk, names } = this.#options;
    const path = this.logPath(state.key, state.gen);
    const staging = names.nextFor(path);
    const file = await disk.open(staging, 'create');
    try {
      const kept = await this.#copyTo(state, file);
      if (lines.length > 0) await file.writeAt(lines, kept);
      await file.sync();
    } catch (error) {
      await file.close();
      await disk.unlink(staging);
      throw error;
    }
    await file.close();
    await this.#handles.drop(path);
    await disk.rename(staging, path);
    await disk.syncDirectory(this.folderOf(state.key));
  }

  async #copyTo(state: KeyState, target: DiskFile): Promise<number> {
    await this.#copyRange(state, state.base, state.syncedTo, target, 0);
    return state.syncedTo - state.base;
  }

  /**
   * Puts the bytes from `base` up to `to` into the log of another generation; durable with the folder's next sync. Without any the generation
   * has no log yet, and none that an earlier try may have left.
   */
  async copyToGeneration(state: KeyState, gen: number, base: number, to: number): Promise<void> {
    const { disk, names } = this.#options;
    const path = this.logPath(state.key, gen);
    await this.#handles.drop(path);
    if (to <= base) {
      if ((await disk.stat(path)) !== undefined) await disk.unlink(path);
      return;
    }
    const staging = names.nextFor(path);
    const file = await disk.open(staging, 'create');
    try {
      await this.#copyRange(state, base, to, file, 0);
      await file.sync();
    } catch (error) {
      await file.close();
      await disk.unlink(staging);
      throw error;
    }
    await file.close();
    await disk.rename(staging, path);
  }

  /** Brings the log of an older generation, which begins at `base`, up to what the present one holds: only recovery needs it. */
  async extendGeneration(state: KeyState, gen: number, base: number): Promise<void> {
    const { disk } = this.#options;
    const path = this.logPath(state.key, gen);
    const end = base + ((await disk.stat(path))?.size ?? 0);
    if (end >= state.filledTo) return;
    await this.#handles.with(path, async (file) => {
      await this.#copyRange(state, end, state.filledTo, file, end - base);
      await file.sync();
    });
  }

  async #copyRange(
    state: KeyState,
    from: number,
    to: number,
    target: DiskFile,
    at: number,
  ): Promise<void> {
    for (let next = from; next < to;) {
      const chunk = await this.read(state, next, Math.min(copyBytes, to - next));
      if (chunk.length === 0) break;
      await target.writeAt([chunk], at + next - from);
      next += chunk.length;
    }
  }

  /** Numbers of the log generations of which a file is there, other than `keep`, each with its files; nothing is opened. */
  async otherGenerations(key: Key, keep: number | undefined): Promise<readonly GenerationEntry[]> {
    const folder = this.folderOf(key);
    const found: GenerationEntry[] = [];
    for (const { name } of await this.#options.disk.readDirectory(folder)) {
      const match = generationPattern.exec(name);
      if (match === null || Number(match[2]) === keep) continue;
      const kind = match[1] === 'log' ? 'log' : 'description';
      found.push({ gen: Number(match[2]), kind, path: join(folder, name) });
    }
    return found;
  }

  /** Takes files away; the folder is not synced yet. */
  async remove(entries: readonly GenerationEntry[]): Promise<void> {
    for (const { path } of entries) {
      await this.#handles.drop(path);
      await this.#options.disk.unlink(path);
    }
  }

  /** The folders whose entries lead to a session's folder. */
  foldersAbove(key: Key): readonly string[] {
    return [dirname(this.folderOf(key)), this.#options.directory];
  }

  close(): Promise<void> {
    return this.#handles.close();
  }
}

/** Those at or behind an offset; lines lie in order, and the drained ones before them may be many. */
function linesFrom(tail: readonly TailLine[], offset: number): readonly TailLine[] {
  let at = tail.length;
  while (at > 0 && (tail[at - 1]?.offset ?? 0) >= offset) at -= 1;
  return tail.slice(at);
}
