import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { isMillraceError } from '#base';
import type { Disk, DiskFile } from '#disk';
import type { BatchItem, DeadLetterRecord, KeyStatus, QueueBackend, QueueLedger } from '#queue';
import type { Key } from '#record';
import { exportTargetExists } from './errors.ts';
import { flatLine } from './flat-line.ts';
import { flatName } from './flat-name.ts';

export interface ExportNeeds {
  readonly disk: Disk;
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Every record that the log of a key still holds, in order. */
  readLog(key: Key): AsyncIterable<BatchItem>;
}

export interface ExportOptions {
  readonly folder: string;
  readonly workspace?: string | undefined;
  readonly onProgress: (seen: { readonly sessions: number; readonly records: number }) => void;
}

export interface ExportedSession {
  readonly key: string;
  readonly session: string;
  readonly name: string;
  readonly records: number;
  /** Of the log in its flat form, in bytes: what stands in the offset file. */
  readonly offset: number;
  readonly pending: number;
  readonly letters: number;
  /** Records that the log no longer has: compacted, or of an epoch that was finalised. */
  readonly gone: number;
}

export interface ExportReport {
  readonly folder: string;
  readonly sessions: readonly ExportedSession[];
  readonly not_exported: readonly { readonly key: string; readonly reason: string }[];
}

const keysPerPage = 500;
const writeBytes = 1024 * 1024;

/**
 * Writes the predecessor's flat form (ING-824): per session one log, its offset as a bare integer, its dead letters. Nothing that stands there is
 * written over (EXPORT_TARGET_EXISTS). Cursors are lost: the predecessor begins its counters anew.
 */
export async function exportFolder(
  needs: ExportNeeds,
  options: ExportOptions,
): Promise<ExportReport> {
  const { disk, ledger } = needs;
  const { folder, workspace } = options;
  if ((await disk.stat(folder)) !== undefined && (await disk.readDirectory(folder)).length > 0)
    throw exportTargetExists({ folder });
  await disk.makeDirectory(folder);
  const sessions: ExportedSession[] = [];
  const skipped: { key: string; reason: string }[] = [];
  const names = new Map<string, string>();
  let records = 0;
  let afterKey: Key | undefined;
  for (;;) {
    const page = await ledger.listKeys({
      limit: keysPerPage,
      ...(afterKey === undefined ? {} : { afterKey }),
      ...(workspace === undefined ? {} : { workspace }),
    });
    for (const status of page) {
      const done = await exportKey(needs, folder, status, names);
      if ('reason' in done) skipped.push(done);
      else if (done.records > 0 || done.letters > 0) sessions.push(done);
      if (!('reason' in done)) records += done.records;
      options.onProgress({ sessions: sessions.length, records });
    }
    afterKey = page.at(-1)?.key;
    if (page.length < keysPerPage) break;
  }
  await disk.syncDirectory(folder);
  return { folder, sessions, not_exported: skipped };
}

type Skipped = { readonly key: string; readonly reason: string };

async function exportKey(
  needs: ExportNeeds,
  folder: string,
  status: KeyStatus,
  names: Map<string, string>,
): Promise<ExportedSession | Skipped> {
  const { key, session } = status;
  const name = flatName(session);
  const other = names.get(name);
  if (other !== undefined)
    return {
      key,
      reason: `the flat form has one log per session id, and ${name} is that of ${other}: export each workspace by itself`,
    };
  if (status.quarantine !== null)
    return { key, reason: `it is in quarantine: ${status.quarantine.message}` };
  names.set(name, key);
  try {
    const log = await writeLog(needs, folder, name, status);
    const letters = await writeLetters(needs, folder, name, status);
    const { pending, accepted } = status;
    return {
      key,
      session,
      name,
      ...log,
      pending,
      letters,
      gone: Math.max(0, accepted - log.records),
    };
  } catch (error) {
    // Damage that is met only now stops this key alone.
    if (!isMillraceError(error) || error.disposition !== 'corrupt') throw error;
    return { key, reason: error.message };
  }
}

async function writeLog(
  needs: ExportNeeds,
  folder: string,
  name: string,
  { key, committed }: KeyStatus,
): Promise<{ readonly records: number; readonly offset: number }> {
  let out: FlatFile | undefined;
  let records = 0;
  let offset = 0;
  try {
    for await (const { raw, after } of needs.readLog(key)) {
      const line = flatLine(raw) ?? Buffer.from(raw).toString('utf8');
      out ??= await FlatFile.create(needs.disk, join(folder, `${name}.log`));
      await out.write(line);
      records += 1;
      if (after <= committed) offset = out.bytes;
    }
    await out?.end();
  } finally {
    await out?.close();
  }
  if (records > 0) await writeWhole(needs.disk, join(folder, `${name}.offset`), String(offset));
  return { records, offset };
}

/** Letters that nobody has settled; those of an earlier life beside the live ones, so that they excuse no new line. */
async function writeLetters(
  { disk, queue }: ExportNeeds,
  folder: string,
  name: string,
  { key }: KeyStatus,
): Promise<number> {
  const letters = (await queue.readDeadLetters(key)).filter(
    ({ outcome }) => outcome.kind === 'live',
  );
  const write = async (suffix: string, some: readonly DeadLetterRecord[]): Promise<void> => {
    if (some.length > 0)
      await writeWhole(disk, join(folder, `${name}${suffix}`), some.map(letterLine).join(''));
  };
  const retired = letters.filter(({ isRetired }) => isRetired);
  const [oldest] = retired;
  await write(
    '.dead.jsonl',
    letters.filter(({ isRetired }) => !isRetired),
  );
  if (oldest !== undefined)
    await write(`.finalized-${Date.parse(oldest.ts)}000000.dead.jsonl`, retired);
  return letters.length;
}

function letterLine({ ts, error, payload }: DeadLetterRecord): string {
  const line = flatLine(payload);
  const text = line ?? (isUtf8(payload) ? Buffer.from(payload).toString('utf8') : undefined);
  const own =
    text === undefined
      ? { payload_b64: Buffer.from(payload).toString('base64') }
      : { payload: text };
  const reason = `${error.code}: ${error.message}`;
  return `${JSON.stringify({ ts: Date.parse(ts) / 1000, error: reason, ...own })}\n`;
}

/** A new file that is written from its beginning to its end, in few writes. */
class FlatFile {
  readonly #file: DiskFile;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #written = 0;

  private constructor(file: DiskFile) {
    this.#file = file;
  }

  static async create(disk: Disk, path: string): Promise<FlatFile> {
    return new FlatFile(await disk.open(path, 'create'));
  }

  get bytes(): number {
    return this.#written + this.#waitingBytes;
  }

  async write(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`, 'utf8');
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= writeBytes) await this.#flush();
  }

  async end(): Promise<void> {
    await this.#flush();
    await this.#file.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length > 0) await this.#file.writeAt(this.#waiting, this.#written);
    this.#written += this.#waitingBytes;
    [this.#waiting, this.#waitingBytes] = [[], 0];
  }
}

async function writeWhole(disk: Disk, path: string, text: string): Promise<void> {
  const file = await disk.open(path, 'create');
  try {
    await file.writeAt([Buffer.from(text, 'utf8')], 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
