import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { openControlDatabase, type ControlDatabase } from '#control';
import { takeTenure, tenureDomain, type TenureOrder } from '#fence';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const order: TenureOrder = { storageRootId: 'SR-1', holder: 'daemon', chance: systemChance };

async function withControl(use: (control: ControlDatabase) => void): Promise<void> {
  await withTemporaryDirectory((root) => {
    const control = openControlDatabase(join(root, 'control.db'), { clock: systemClock });
    use(control);
    control.close();
  });
}

describe('tenure', () => {
  it('takes over at once what a dead daemon held, with a higher generation (P6, FEN-858)', async () => {
    await withControl((control) => {
      const dead = takeTenure(control, order);
      const next = takeTenure(control, order);
      expect(next.permit.generation).toBe(dead.permit.generation + 1);
      expect(next.permit.domain).toBe(tenureDomain('SR-1'));
      expect(next.permit.holder).not.toBe(dead.permit.holder);
      expect(dead.release()).toBe(false);
      expect(control.leases.read(tenureDomain('SR-1'))?.holder).not.toBeNull();
      expect(next.release()).toBe(true);
    });
  });

  it('ends the permit when it is released or found lost (ING-236)', async () => {
    await withControl((control) => {
      const released = takeTenure(control, order);
      expect(released.permit.isLive).toBe(true);
      released.release();
      expect(released.permit.isLive).toBe(false);
      const lost = takeTenure(control, order);
      lost.lose();
      expect(lost.permit.isLive).toBe(false);
      expect(control.leases.read(tenureDomain('SR-1'))?.holder).not.toBeNull();
    });
  });

  it('is asked whether it is the newest: a permit that has been taken over ends at the first no (P6, ING-T45)', async () => {
    await withControl((control) => {
      const first = takeTenure(control, order).permit;
      expect(first.isCurrent()).toBe(true);
      const second = takeTenure(control, order).permit;
      expect(first.isLive).toBe(true);
      expect(first.isCurrent()).toBe(false);
      expect(first.isLive).toBe(false);
      expect(second.isCurrent()).toBe(true);
    });
  });

  it('goes above the marks of the guarded things (FEN-113)', async () => {
    await withControl((control) => {
      expect(takeTenure(control, { ...order, atLeast: 12 }).permit.generation).toBe(13);
    });
  });

  it('shows a mark from which the token cannot be read', async () => {
    await withControl((control) => {
      const tokens: string[] = [];
      const chance = {
        ...systemChance,
        uuid: () => {
          tokens.push(systemChance.uuid());
          return tokens.at(-1) ?? '';
        },
      };
      const { permit } = takeTenure(control, { ...order, chance });
      expect(permit.holder).toMatch(/^[0-9a-f]{32}$/);
      expect(permit.holder).not.toContain(tokens[0]?.slice(0, 8));
    });
  });
});
