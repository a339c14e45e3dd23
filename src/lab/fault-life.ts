import {
  failingDisk,
  recordingDisk,
  type DiskCall,
  type DiskFault,
  type FailingDisk,
  type RecordingDisk,
} from '#disk';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, type MemoryState } from '#state';
import { checkRecovered } from './check-recovered.ts';
import { demandEqual } from './demand.ts';
import type { History } from './history.ts';
import { labDisk, openLabQueue } from './lab-queue.ts';
import { limits, live } from './recorded-life.ts';

export interface FaultyLife {
  /** Calls that the fault has hit; none when the life makes fewer calls. */
  readonly hits: number;
  readonly disk: RecordingDisk;
  readonly state: MemoryState;
}

/** Kinds of trouble that the disk answers a call with. */
export const troubles = ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'short write'] as const;
export type Trouble = (typeof troubles)[number];

/** Calls that a trouble can meet at all. */
const callsOf: Readonly<Record<Trouble, readonly DiskCall[] | undefined>> = {
  EIO: undefined,
  ENOSPC: ['open', 'writeAt', 'sync', 'rename', 'makeDirectory', 'syncDirectory', 'truncate'],
  EDQUOT: ['open', 'writeAt', 'sync', 'rename', 'makeDirectory', 'syncDirectory', 'truncate'],
  EROFS: ['open', 'writeAt', 'rename', 'unlink', 'makeDirectory', 'truncate'],
  EMFILE: ['open', 'readFile', 'readDirectory'],
  'short write': ['writeAt'],
};

export function faultOf(trouble: Trouble, nth: number, times: number): DiskFault {
  const calls = callsOf[trouble];
  return {
    code: trouble === 'short write' ? 'EIO' : trouble,
    nth,
    times,
    ...(calls === undefined ? {} : { calls }),
    ...(trouble === 'short write' ? { bytesBefore: 700 } : {}),
  };
}

/** How long a journal may take to heal once the disk does: its longest wait between two tries. */
const healMs = 120_000;

/**
 * A life in which calls fail, and its end: the disk gets well, nothing is left that would keep the queue from stopping in order, and what was
 * acknowledged is there, once, in the process and after a restart (QFS-31, P1, P3, P4).
 */
export async function liveThrough(
  fault: DiskFault,
  life: (history: History) => Promise<void>,
): Promise<FaultyLife> {
  const disk = recordingDisk(labDisk());
  const failing = failingDisk(disk);
  const state = memoryState();
  const history = await live({ disk, state, generation: 1, through: failing }, async (opened) => {
    failing.plan([fault]);
    await life(opened);
    await opened.tick();
  });
  const hits = failing.failureCount();
  await heal(history, failing);
  await history.queue.close();
  await checkAgain(disk, state);
  return { hits, disk, state };
}

async function heal(history: History, failing: FailingDisk): Promise<void> {
  failing.heal();
  const journalTroubles = (queue: FilesystemQueue): readonly string[] =>
    queue.trouble().map(({ message }) => message);
  for (let ms = 0; ms < healMs && journalTroubles(history.queue).length > 0; ms += 500)
    await history.advance(500);
  await history.queue.checkpoint();
  demandEqual(journalTroubles(history.queue), [], 'a queue heals by itself once the disk is well');
}

async function checkAgain(disk: RecordingDisk, state: MemoryState): Promise<void> {
  const marks = disk.log.steps.filter((step) => step.kind === 'mark');
  const again = await openLabQueue({ disk, state, generation: 2, limits });
  await checkRecovered(again, disk, marks);
  await again.close();
}
