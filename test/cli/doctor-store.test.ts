import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { bareFiles, layoutOf, leaveClosingNote } from '#roots';
import { checkLeftStores } from '../../src/cli/doctor/doctor-store.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const disk = nodeDisk();
const means = { disk, clock: systemClock, names: stagingNames(process.pid, systemChance) };

describe('doctor over the stores of a root at rest', () => {
  it('names the file that was changed since the last stop, and leaves the note to the next start (P7)', () =>
    withTemporaryDirectory(async (folder) => {
      const layout = layoutOf(folder);
      await mkdir(layout.maintenance);
      const paths = bareFiles(layout);
      for (const path of Object.values(paths)) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, 'bytes of a store');
      }
      expect(await checkLeftStores(layout, disk), 'nothing vouches').toEqual([]);
      await leaveClosingNote(means, layout, true);
      const note = await readFile(layout.closingNote);
      expect(await checkLeftStores(layout, disk)).toMatchObject([{ result: 'ok' }]);
      await writeFile(paths.graph, 'bytes of a stare');
      expect(await checkLeftStores(layout, disk)).toEqual([
        expect.objectContaining({
          result: 'warning',
          detail: expect.stringContaining(`${paths.graph} was changed since the last stop`),
        }),
      ]);
      expect((await readFile(layout.closingNote)).equals(note)).toBe(true);
    }));
});
