import { atomicReplace, stagingNames, type StagingNames } from '#disk';
import { labDisk } from '../lab-queue.ts';
import { scatter, type Race, type Variant } from './race.ts';
import { seededChance } from '../seeded-chance.ts';

const path = '/root/record';
const writers = 4;

function namesOf(variant: Variant): StagingNames {
  const names = stagingNames(1, seededChance(1));
  return variant === 'real'
    ? names
    : { ...names, nextFor: () => `${path}.1-0000000000000000-1.tmp` };
}

/** Four writers replace one file at once: each must succeed, and the file must be one of theirs as a whole (P3). */
export const fourWritersOfOneFile: Race = {
  guard: 'G3',
  name: 'four writers of one file',
  defect: 'one staging name for all',
  async isDamaged(variant, chance) {
    const disk = labDisk();
    const names = namesOf(variant);
    const contents = Array.from({ length: writers }, (_, at) =>
      Buffer.from(String(at).repeat(100 + at)),
    );
    const outcomes = await Promise.allSettled(
      contents.map(async (bytes) => {
        await scatter(chance);
        await atomicReplace(disk, path, bytes, names);
      }),
    );
    const left = await disk.readFile(path);
    const isWhole = left !== undefined && contents.some((bytes) => bytes.equals(left));
    return !isWhole || outcomes.some(({ status }) => status === 'rejected');
  },
};
