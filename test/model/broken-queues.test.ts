import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { planCommands } from '../../src/lab/model/command.ts';
import { runModel } from '../../src/lab/model/run-model.ts';
import { seededChance } from '../../src/lab/seeded-chance.ts';
import { brokenAppends } from '../contract/self/broken-appends.ts';
import { brokenKeepings } from '../contract/self/broken-keepings.ts';
import { spoiled, type BrokenQueue } from '../contract/self/broken-queue.ts';

/** Defects in what a run of the model never asks of a queue: the contract suite has checks of their own for them. */
const notAsked =
  /leave out its cursor|closed queue|stopped writer|one bad key|drained key|duplicates are forgotten|nobody owns|raw bytes|another content|may go back|second letter|reader sees|limit is not held|decoded with loss|before its commit/;

const commandsPerRun = 300;

/** True when one of a few runs finds the defect. */
async function isFound(broken: BrokenQueue): Promise<boolean> {
  for (let seed = 1; seed <= 5; seed += 1) {
    const memory = new Map<string, unknown>();
    const spoil = (queue: FilesystemQueue): FilesystemQueue => ({
      ...queue,
      ...spoiled(queue, broken, memory),
    });
    try {
      await runModel(planCommands(seededChance(seed), commandsPerRun), seed, spoil);
    } catch {
      return true;
    }
  }
  return false;
}

describe('the model', () => {
  it.each([...brokenAppends, ...brokenKeepings].filter(({ defect }) => !notAsked.test(defect)))(
    'finds that $defect (ING-T00)',
    async (broken) => {
      expect(await isFound(broken)).toBe(true);
    },
  );
});
