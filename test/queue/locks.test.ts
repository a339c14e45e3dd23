import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { assertHeld, createKeyLocks, type KeyGuard, type KeyLocks, type SlowWait } from '#queue';
import { awaitBeforeInsert } from '../mutants/locks-await-before-insert.ts';
import { byAsyncContext } from '../mutants/locks-by-async-context.ts';
import { inRequestOrder } from '../mutants/locks-in-request-order.ts';
import { leavesSideBySide } from '../mutants/locks-leaves-side-by-side.ts';
import { fakeClock } from '../support/clock.ts';
import { turn } from '../support/turn.ts';
import {
  detachedTaskIsNoOwner,
  key,
  leavesInOrder,
  lockChecks,
  oneGuardPerKey,
  Section,
  sortedKeysCannotCross,
} from './lock-checks.ts';

const makeLocks = (): KeyLocks => createKeyLocks({ clock: systemClock, warnMs: 2000 });

describe('key locks', () => {
  for (const check of lockChecks) it(check.name, () => check.run(makeLocks()));

  it.each([
    [oneGuardPerKey, awaitBeforeInsert],
    [leavesInOrder, leavesSideBySide],
    [detachedTaskIsNoOwner, byAsyncContext],
    [sortedKeysCannotCross, inRequestOrder],
  ])('turns the check red on its mutant (ING-T00): $name', async (check, mutate) => {
    await expect(check.run(mutate(makeLocks()))).rejects.toThrow();
  });

  it('re-enters with a guard of the same key only (ING-302, ING-303)', async () => {
    const locks = makeLocks();
    await locks.with(key('a'), async (guard) => {
      expect(await locks.with(key('a'), async (again) => again.key, guard)).toBe(key('a'));
      await expect(locks.with(key('b'), async () => 1, guard)).rejects.toMatchObject({
        code: 'GUARD_STALE',
      });
      await expect(makeLocks().with(key('a'), async () => 1, guard)).rejects.toMatchObject({
        code: 'GUARD_STALE',
      });
      expect(() => assertHeld(guard, key('b'))).toThrow('guard of');
    });
    expect(locks.size).toBe(0);
  });

  it('keeps the lock until a scope that nobody waits for, and a leaf that runs, have ended', async () => {
    const locks = makeLocks();
    const section = new Section();
    let inner: Promise<unknown> = Promise.resolve();
    const outer = locks.with(key('a'), async (guard) => {
      inner = locks.with(key('a'), (again) => again.leaf(() => section.pass()), guard);
    });
    await outer;
    expect(locks.locked(key('a'))).toBe(true);
    await Promise.all([inner, locks.with(key('a'), () => section.pass())]);
    expect(section.mostInside).toBe(1);
    expect(locks.size).toBe(0);
  });

  it('refuses a leaf that was still waiting when its scope ended', async () => {
    const locks = makeLocks();
    let late: Promise<unknown> = Promise.resolve();
    const section = new Section();
    await locks.with(key('a'), async (guard) => {
      late = Promise.allSettled([
        guard.leaf(() => section.pass()),
        guard.leaf(() => section.pass()),
      ]);
    });
    await expect(late).resolves.toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'GUARD_STALE' } },
    ]);
  });

  it('serves waiters first in, first out, also after one of them failed (ING-312)', async () => {
    const locks = makeLocks();
    const order: number[] = [];
    const visits = Array.from({ length: 20 }, (_, at) =>
      locks.with(key('a'), async () => {
        order.push(at);
        await turn();
        if (at === 3) throw new Error('third');
      }),
    );
    const settled = await Promise.allSettled(visits);
    expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(order).toEqual(visits.map((_, at) => at));
    expect(locks.size).toBe(0);
  });

  it('lets go when the function throws before its first await', async () => {
    const locks = makeLocks();
    const throwing = (): Promise<void> => {
      throw new Error('at once');
    };
    await expect(locks.with(key('a'), throwing)).rejects.toThrow('at once');
    expect(locks.size).toBe(0);
  });

  it('runs a step on several keys at once, or not at all while one is held (ING-520)', async () => {
    const locks = makeLocks();
    const keys = [key('a'), key('b')];
    expect(locks.tryAll(keys, () => locks.locked(key('b')))).toEqual({ value: true });
    await locks.with(key('b'), async () => {
      expect(locks.tryAll(keys, () => 1)).toBeUndefined();
    });
    expect(() =>
      locks.tryAll(keys, () => {
        throw new Error('inside');
      }),
    ).toThrow('inside');
    expect(locks.locked(key('a'))).toBe(false);
  });

  it('hands the guards of several keys over in key order, each once', async () => {
    const locks = makeLocks();
    const seen = await locks.withAll([key('b'), key('a'), key('b')], async (guards) => {
      for (const guard of guards) assertHeld(guard);
      return guards.map((guard) => guard.key);
    });
    expect(seen).toEqual([key('a'), key('b')]);
    expect(locks.size).toBe(0);
  });

  it('tells of a wait that is too long while it still lasts, with its holder (ING-312)', async () => {
    const clock = fakeClock();
    const slow: SlowWait[] = [];
    const locks = createKeyLocks({ clock, warnMs: 100, onSlow: (wait) => slow.push(wait) });
    let finish = (): void => undefined;
    const holder = locks.with(
      key('a'),
      () => new Promise<void>((resolve) => (finish = resolve)),
      undefined,
      'checkpoint',
    );
    const waiter = locks.with(key('a'), async () => undefined);
    await clock.advance(90);
    expect(slow).toEqual([]);
    const later = locks.with(key('a'), async () => undefined);
    await clock.advance(50);
    expect(slow).toEqual([{ key: key('a'), holder: 'checkpoint', waitedMs: 101, heldMs: 101 }]);
    finish();
    await Promise.all([holder, waiter, later]);
    expect(slow).toHaveLength(1);
    expect(clock.waitingCount()).toBeLessThanOrEqual(1);
  });

  it('fails waiters with DRAINING at shutdown and lets holds end (P10)', async () => {
    const locks = makeLocks();
    const section = new Section();
    const holder = locks.with(key('a'), () => section.pass());
    const waiter = locks.with(key('a'), () => section.pass());
    locks.close();
    await expect(waiter).rejects.toMatchObject({ code: 'DRAINING' });
    await expect(locks.with(key('a'), () => section.pass())).rejects.toMatchObject({
      code: 'DRAINING',
    });
    await expect(holder).resolves.toBeUndefined();
    await expect(locks.with(key('a'), async () => 'free')).resolves.toBe('free');
  });

  it('makes every guard stale once the exclusion of the process is lost (P6, ING-310)', async () => {
    const locks = makeLocks();
    let kept: KeyGuard | undefined;
    await locks.with(key('a'), async (guard) => {
      kept = guard;
      locks.invalidate();
      expect(guard.isActive).toBe(false);
      await expect(guard.leaf(async () => 1)).rejects.toMatchObject({ code: 'GUARD_STALE' });
    });
    expect(kept?.isActive).toBe(false);
    await expect(locks.with(key('a'), async () => 1)).rejects.toMatchObject({ code: 'DRAINING' });
    expect(() => locks.tryAll([key('a')], () => 1)).toThrow('stopping');
  });
});
