import { isMillraceError, type Chance } from '#base';
import { stagingNames, type Disk } from '#disk';
import { labPermit } from '#fence';
import { createKeyLocks } from '#queue';
import { offsetRecords, type OffsetRecord, type OffsetRecords } from '#queue-backends/filesystem';
import { labDisk } from '../lab-queue.ts';
import { labKey } from '../records.ts';
import { seededChance } from '../seeded-chance.ts';
import { simulatedClock } from '../simulated-clock.ts';
import { looseLocks } from './loose-locks.ts';
import { scatter, type Race, type Variant } from './race.ts';

const folder = '/root/w~s';
const key = labKey('s');

const first: OffsetRecord = {
  v: 2,
  min_reader: 2,
  workspace: 'w',
  session_id: 's',
  owner: null,
  epoch: 'e',
  ordinal: 0,
  gen: 0,
  base: 0,
  offset: 100,
  log_end: 1000,
  log_records: 100,
  committed_records: 10,
  applied: null,
  state: 'open',
  totals: { accepted: 100, applied: 10, dead: 0, discarded: 0, duplicates: 0 },
  seq: 10,
  frame: { tenure: 1, sequence: 10 },
  tenure: 1,
  cursor: null,
};

function recordsOf(variant: Variant, disk: Disk, chance: Chance): OffsetRecords {
  const clock = simulatedClock();
  return offsetRecords({
    disk,
    names: stagingNames(1, seededChance(1)),
    clock,
    chance,
    permit: labPermit(1),
    locks: variant === 'real' ? createKeyLocks({ clock, warnMs: 2000 }) : looseLocks(),
  });
}

/** Two acts move one offset record forward at once: a commit by 200 bytes, a reconcile by the 100 of one dead record. Both must count. */
export const commitAgainstReconcile: Race = {
  guard: 'G1',
  name: 'commit against reconcile',
  defect: 'the record writer leaves the lock to its callers',
  async isDamaged(variant, chance) {
    const disk = labDisk();
    await disk.makeDirectory(folder);
    const records = recordsOf(variant, disk, chance);
    await records.write(key, folder, () => first);
    const move = async (by: number): Promise<void> => {
      await scatter(chance);
      await records.write(key, folder, (current = first) => ({
        ...current,
        offset: current.offset + by,
        seq: current.seq + 1,
      }));
    };
    try {
      await Promise.all([move(200), move(100)]);
      return (await records.read(key, folder))?.offset !== first.offset + 300;
    } catch (error) {
      // A half-written or missing record, or one that its writer did not expect.
      if (isMillraceError(error) || error instanceof Error) return true;
      throw error;
    }
  },
};
