import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemChance } from '#base';
import { memoryState, openLmdbState, type MemoryState } from '#state';
import { describeState } from '../contract/state/describe-state.ts';

describeState('lmdb', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-state-'));
  return {
    open: (permit) => openLmdbState({ directory, permit, chance: systemChance }),
    dispose: () => rm(directory, { recursive: true, force: true }),
  };
});

describeState('memory', async () => {
  let last: MemoryState | undefined;
  return {
    async open(permit) {
      const from = last?.snapshots().at(-1);
      last = memoryState({ permit, ...(from === undefined ? {} : { from }) });
      return last;
    },
    dispose: async () => undefined,
  };
});
