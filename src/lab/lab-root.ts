import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { bindRoot } from '#roots';

/** Makes a root on which failpoints are honoured (ING-021), as no `serve` does. */
export async function makeLabRoot(path: string): Promise<void> {
  const root = await bindRoot(
    { path, source: 'cli' },
    {
      disk: nodeDisk(),
      clock: systemClock,
      chance: systemChance,
      names: stagingNames(process.pid, systemChance),
      keyEncoding: 'plain',
      isLab: true,
    },
  );
  root.lock.release();
}
