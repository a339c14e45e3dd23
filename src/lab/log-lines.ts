import type { Disk } from '#disk';
import { parseKey, type Key } from '#record';
import { demand } from './demand.ts';
import { labQueueDirectory } from './lab-queue.ts';

/** A line of a session log, read without the help of the backend. */
export interface LogLine {
  readonly n: number;
  readonly offset: number;
  readonly end: number;
  readonly eventId: string | undefined;
}

export type Logs = ReadonlyMap<Key, readonly LogLine[]>;

/** Every session log of a lab queue, as a person would read it. */
export async function readLogs(disk: Disk): Promise<Logs> {
  const logs = new Map<Key, readonly LogLine[]>();
  const sessions = `${labQueueDirectory}/sessions`;
  for (const shard of await disk.readDirectory(sessions))
    for (const { name } of await disk.readDirectory(`${sessions}/${shard.name}`)) {
      const key = parseKey(name);
      demand(key !== undefined, 'a folder of sessions is named after a key', name);
      const path = `${sessions}/${shard.name}/${name}/log.000000.jsonl`;
      logs.set(key, linesOf((await disk.readFile(path)) ?? new Uint8Array(0)));
    }
  return logs;
}

function linesOf(bytes: Uint8Array): readonly LogLine[] {
  const lines: LogLine[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at) + 1;
    demand(end > 0, 'a log ends at the end of a line', `inside a line at ${at}`);
    const line = JSON.parse(Buffer.from(bytes.subarray(at, end)).toString('utf8')) as {
      readonly id?: string;
      readonly data: { readonly n: number };
    };
    lines.push({ n: line.data.n, offset: at, end, eventId: line.id });
    at = end;
  }
  return lines;
}
