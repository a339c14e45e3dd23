import { join } from 'node:path';
import { atomicReplace } from '#disk';
import type { QueueTrouble } from '#queue';
import { evidenceKept } from '#signals';
import type { FilesystemQueueOptions } from './engine.ts';
import type { Scan } from './recovery/recovery-scan.ts';

/** Stays in the queue's folder until an operator removes it. */
const notePattern = /^journal\.behind\..+\.json$/;

/**
 * Journal and state store compare notes at a start, before anything is written. Frames that have left the journal cannot be caught up from: ids and
 * rows of sessions whose logs are gone too are known to nobody (ING-513, ING-610). And frames that a checkpoint has counted cannot be missing from a
 * journal: one that ends before them was lost, or is an older copy, and what only it held is gone (QFS-13).
 */
export async function compareWithState(options: FilesystemQueueOptions, scan: Scan): Promise<void> {
  const { state, onStateBehind } = options;
  const stateThrough = state.checkpointedThrough();
  if (stateThrough === undefined) return;
  const markThrough = scan.mark?.low ?? 0;
  if (stateThrough < markThrough)
    await onStateBehind?.({ knownThrough: stateThrough, neededThrough: markThrough });
  if (scan.lastSequence < stateThrough)
    await noteJournalBehind(options, scan.lastSequence, stateThrough);
}

async function noteJournalBehind(
  { disk, directory, names, clock }: FilesystemQueueOptions,
  knownThrough: number,
  neededThrough: number,
): Promise<void> {
  const time = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-');
  const path = join(directory, `journal.behind.${time}.json`);
  const content = { v: 1, knownThrough, neededThrough };
  await atomicReplace(disk, path, Buffer.from(`${JSON.stringify(content)}\n`), names);
  const reason = `the journal ends at frame ${knownThrough}, a checkpoint has counted ${neededThrough}: it was lost, or is an older copy`;
  evidenceKept.publish(() => ({ path, reason }));
}

/** What stands in the notes, in words; read at a start. */
export async function readNotes({
  disk,
  directory,
  clock,
}: FilesystemQueueOptions): Promise<readonly QueueTrouble[]> {
  const since = new Date(clock.now()).toISOString();
  return (await disk.readDirectory(directory))
    .filter(({ name }) => notePattern.test(name))
    .map(({ name }) => ({
      code: 'JOURNAL_BEHIND',
      message: `the journal was missing or damaged, or an older copy of it was put in place: events that only it held are gone, and sessions that the graph has further than the queue stand still (GRAPH_MISMATCH): restore the whole root from a backup; or take what is there with "millrace graph adopt", have the senders of the last events send them again, and remove ${join(directory, name)}`,
      place: directory,
      since,
      isRefusing: false,
    }));
}
