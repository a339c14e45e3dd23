import { draining, type LogRepair } from '#queue';
import type { Engine } from '../engine.ts';
import { classify } from './classify.ts';
import { clearQuarantine } from './clear-quarantine.ts';
import { reconcileAllDead, reconcileDead } from './reconcile.ts';
import { resetOffset } from './reset-offset.ts';
import { lettersOf, writeOffLetters } from './write-off.ts';
import { showQuarantine } from './show-quarantine.ts';

/** The repair half of what only a queue of log files can do (ING-102). */
export function createRepair(engine: Engine): LogRepair {
  const open = (): Engine => {
    if (engine.isClosing) throw draining({ what: 'the queue' });
    return engine;
  };
  return {
    classify: async (key) => classify(open(), key),
    reconcileDead: async (key) => reconcileDead(open(), key),
    reconcileAllDead: async (signal) => reconcileAllDead(open(), signal),
    resetOffset: async (key, order) => open().filesGate.pass(() => resetOffset(engine, key, order)),
    countLetters: async (key) => lettersOf(open(), key),
    writeOffLetters: async (key) => open().filesGate.pass(() => writeOffLetters(engine, key)),
    showQuarantine: async (key) => showQuarantine(open(), key),
    clearQuarantine: async (key, order, help) =>
      open().filesGate.pass(() => clearQuarantine(engine, key, order, help)),
  };
}
