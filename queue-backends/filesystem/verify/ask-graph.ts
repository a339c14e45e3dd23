import { join } from 'node:path';
import { sha256Hex } from '#base';
import type { Disk } from '#disk';
import { formatPosition, parsePosition, type Position } from '#record';
import { offsetRecordName } from '../session/offset-record.ts';
import { readStored } from '../session/stored-line.ts';
import type { BondedLog, GraphWord, JournalFacts, VerifyFinding } from './findings.ts';
import { type FolderFacts, logName } from './read-folder.ts';
import { walkLines } from './walk-lines.ts';

/**
 * Has the graph compared with what one session's files say (ING-541). Only where those are sound, and the journal tells of no other epoch: else there is
 * nothing to compare with. `end` is that of what was accepted, journal included.
 */
export async function askGraph(
  { disk, directory }: { readonly disk: Disk; readonly directory: string },
  folder: FolderFacts,
  { facts, end }: { readonly facts: JournalFacts | undefined; readonly end: number | null },
  ask: (log: BondedLog) => GraphWord,
): Promise<readonly VerifyFinding[]> {
  const { record, key, path } = folder;
  if (record.status !== 'sound' || end === null) return [];
  const { epoch, ordinal, applied: mark } = record.record;
  if (facts !== undefined && (facts.isRetold || facts.epoch !== epoch)) return [];
  const word = ask({ key, mark, end: formatPosition({ ordinal, epoch, offset: end }) });
  const message =
    word?.kind === 'prove' ? await disproof(disk, directory, folder, word) : word?.message;
  if (message === undefined) return [];
  const at = join(path, offsetRecordName);
  return [{ code: 'graph_differs', level: 'finding', path: at, message }];
}

/** In words, where the log holds another record than the one that the graph applied; what is in the journal alone, or in no log any more, is not looked for. */
async function disproof(
  disk: Disk,
  directory: string,
  { path, gen, log }: FolderFacts,
  { at, sha256 }: { readonly at: Position; readonly sha256: string },
): Promise<string | undefined> {
  const offset = parsePosition(at)?.offset;
  if (offset === undefined || offset <= log.base || offset > log.soundEnd) return undefined;
  for await (const { end, bytes } of walkLines(disk, join(directory, path, logName(gen)))) {
    if (log.base + end < offset) continue;
    const raw = log.base + end === offset && bytes !== undefined ? readStored(bytes) : undefined;
    if (raw !== undefined && sha256Hex(raw) === sha256) return undefined;
    return `the record that the graph applied at ${at} is not the one that the log has there`;
  }
  return undefined;
}
