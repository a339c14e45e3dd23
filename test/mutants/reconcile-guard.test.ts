import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as reconcileModule from '../../queue-backends/filesystem/repair/reconcile.ts';
import { turn } from '../support/turn.ts';
import type * as raceModule from './reconcile-race.ts';

const module = '../../queue-backends/filesystem/repair/reconcile.ts';

async function race(): Promise<string | undefined> {
  vi.resetModules();
  return ((await import('./reconcile-race.ts')) as typeof raceModule).race();
}

/** `state` as it was read a while ago, for whoever goes on from it; what he writes is written to it as it is. */
function staleUntilWritten<T extends object>(state: T, read: Partial<T>): T {
  let isStale = true;
  return new Proxy(state, {
    get: (target, name) => Reflect.get(isStale && name in read ? read : target, name) as unknown,
    set(target, name, value) {
      isStale = false;
      return Reflect.set(target, name, value);
    },
  });
}

afterEach(() => {
  vi.doUnmock(module);
});

describe('a pass over dead letters beside 50 live workers', () => {
  it('sets nobody back and skips nothing (ING-T14, ING-705, P3)', async () => {
    expect(await race()).toBeUndefined();
  });

  it('is told from one that reads the key before it has the guard (ING-T14, ING-T00)', async () => {
    vi.doMock(module, async (original) => {
      const real = await original<typeof reconcileModule>();
      const { loadState } = await import('../../queue-backends/filesystem/session/load-key.ts');
      const reconcileDead: typeof real.reconcileDead = async (engine, key) => {
        const state = await engine.locks.with(key, (guard) => loadState(engine, guard));
        if (state === undefined) return 0;
        const stale = staleUntilWritten(state, {
          committed: state.committed,
          cursor: state.cursor,
          deadAhead: new Map(state.deadAhead),
        });
        for (let turns = 0; turns < 8; turns += 1) await turn();
        return engine.locks.with(key, () => real.passLeadingDead(engine, stale));
      };
      return { ...real, reconcileDead };
    });
    expect(await race()).toMatch(/applied|set back/);
  });
});
