import { isJsonObject, JsonInvalid, parseJson } from '#base';
import { atomicReplace, type Disk, platformCode, type StagingNames } from '#disk';

/** What `serve` leaves for verbs and for a second daemon's refusal (D29). A hint, never authority: the root lock is. */
export interface DaemonFile {
  readonly url: string;
  readonly pid: number;
  /** RFC 3339 UTC. */
  readonly started: string;
}

export async function writeDaemonFile(
  disk: Disk,
  path: string,
  file: DaemonFile,
  names: StagingNames,
): Promise<void> {
  await atomicReplace(disk, path, Buffer.from(`${JSON.stringify(file)}\n`, 'utf8'), names);
}

/** Undefined when there is none or it cannot be read: a hint that is damaged says nothing. */
export async function readDaemonFile(disk: Disk, path: string): Promise<DaemonFile | undefined> {
  const bytes = await disk.readFile(path);
  return bytes === undefined ? undefined : parseDaemonFile(bytes);
}

export function parseDaemonFile(bytes: Uint8Array): DaemonFile | undefined {
  try {
    const json = parseJson(bytes);
    if (!isJsonObject(json)) return undefined;
    const { url, pid, started } = json;
    return typeof url === 'string' && typeof pid === 'number' && typeof started === 'string'
      ? { url, pid, started }
      : undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

/** Already gone is fine. */
export async function removeDaemonFile(disk: Disk, path: string): Promise<void> {
  if ((await disk.stat(path)) !== undefined) await disk.unlink(path);
}

/**
 * Whether the process that a `daemon.json` names is there. A hint as the file itself: a file that a killed daemon left may name the number of
 * another process by now.
 */
export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return platformCode(error) === 'EPERM';
  }
}
