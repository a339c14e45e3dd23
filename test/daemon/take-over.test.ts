import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { openControlDatabase } from '#control';
import { fenceStale, type FencePermit } from '#fence';
import { createClosers } from '../../src/daemon/boot/closers.ts';
import { takeOver } from '../../src/daemon/boot/take-over.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const order = { storageRootId: 'SR-1', holder: 'daemon', chance: systemChance };

/** A store that refuses a permit below its mark, as every guarded thing does. */
function openGuarded(permit: FencePermit, mark: number): string {
  const { domain, generation } = permit;
  if (generation < mark) throw fenceStale({ domain, thing: 'a store', generation, mark });
  return 'open';
}

async function withControl<T>(
  use: (control: ReturnType<typeof openControlDatabase>) => Promise<T>,
): Promise<T> {
  return withTemporaryDirectory(async (folder) => {
    const control = openControlDatabase(join(folder, 'control.db'), { clock: systemClock });
    try {
      return await use(control);
    } finally {
      control.close();
    }
  });
}

describe('taking over a root', () => {
  it('goes above the mark of a store when the control database was set back (P6, FEN-113)', async () => {
    await withControl(async (control) => {
      const closed: number[] = [];
      const taken = await takeOver(control, order, systemClock, ({ permit }, closers) => {
        closers.add('earlier store', () => void closed.push(permit.generation));
        return Promise.resolve(openGuarded(permit, 41));
      });
      expect(taken.stores).toBe('open');
      expect(taken.tenure.permit.generation).toBe(42);
      expect(closed).toEqual([1]);
      const closers = createClosers();
      taken.closers.moveTo(closers);
      await closers.closeAll(systemClock, 0);
      expect(closed).toEqual([1, 42]);
    });
  });

  it('ends with the fault of a store that is not about generations, everything closed', async () => {
    await withControl(async (control) => {
      const closed: string[] = [];
      const failing = takeOver(control, order, systemClock, (_tenure, closers) => {
        closers.add('state', () => void closed.push('state'));
        return Promise.reject(new Error('disk full'));
      });
      await expect(failing).rejects.toThrow('disk full');
      expect(closed).toEqual(['state']);
      expect(control.leases.read('daemon:SR-1')).toMatchObject({ generation: 1, holder: null });
    });
  });

  it('gives up on a store that refuses every generation', async () => {
    await withControl(async (control) => {
      const refusing = takeOver(control, order, systemClock, ({ permit }) =>
        Promise.resolve(openGuarded(permit, permit.generation + 5)),
      );
      await expect(refusing).rejects.toEqual(expect.objectContaining({ code: 'FENCE_STALE' }));
      expect(control.leases.read('daemon:SR-1')?.holder).toBeNull();
    });
  });
});
