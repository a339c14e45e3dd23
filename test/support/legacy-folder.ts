import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface LegacyEventOptions {
  readonly session?: string;
  readonly n?: number;
  readonly event?: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A line of a log as the predecessor wrote it, without its line break. */
export function legacyLine(options: LegacyEventOptions = {}): string {
  const { session = 'A', n = 0, event = 'prompt:submit', more = {} } = options;
  const second = String(n % 60).padStart(2, '0');
  const timestamp = `2026-01-01T00:${String(Math.floor(n / 60)).padStart(2, '0')}:${second}.000+00:00`;
  const data = { session_id: session, timestamp, prompt: `prompt ${n}` };
  return JSON.stringify({ event, workspace: 'w', data, created_by: 'alice', ...more });
}

export function legacyLog(session: string, count: number, from = 0): string {
  return Array.from(
    { length: count },
    (_, at) => `${legacyLine({ session, n: from + at })}\n`,
  ).join('');
}

export function legacyLetter(payload: string, error = 'boom'): string {
  return `${JSON.stringify({ ts: 1_767_225_600.5, error, payload })}\n`;
}

export async function writeFolder(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
}

/** Every file with its bytes, to see that nothing was touched. */
export async function readFolder(folder: string): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(folder)).toSorted())
    found[name] = (await readFile(join(folder, name))).toString('base64');
  return found;
}
