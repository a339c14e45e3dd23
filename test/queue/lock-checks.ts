import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict';
import type { KeyGuard, KeyLocks } from '#queue';
import type { Key } from '#record';
import { turn, until } from '../support/turn.ts';

/** A promise of the lock table as a check, so that a mutant can be shown to break it (ING-T00). */
export interface LockCheck {
  readonly name: string;
  run(locks: KeyLocks): Promise<void>;
}

export const key = (name: string): Key => `w~${name}` as Key;

/** Counts who is inside; more than one at a time is what a lock exists to prevent. */
export class Section {
  #inside = 0;
  mostInside = 0;

  async pass(): Promise<void> {
    this.#inside += 1;
    this.mostInside = Math.max(this.mostInside, this.#inside);
    await turn();
    this.#inside -= 1;
  }
}

export const oneGuardPerKey: LockCheck = {
  name: 'gives one guard per key while 1000 keys come and go (ING-T16)',
  async run(locks) {
    const keys = Array.from({ length: 1000 }, (_, at) => key(`churn-${at}`));
    const sections = keys.map(() => new Section());
    const visit = async (at: number): Promise<void> => {
      for (let round = 0; round < 3; round += 1) {
        await locks.with(keys[at] as Key, () => (sections[at] as Section).pass());
        if (at % 7 === 0) await turn();
      }
    };
    await Promise.all(keys.flatMap((_, at) => [visit(at), visit(at), visit(at)]));
    strictEqual(Math.max(...sections.map(({ mostInside }) => mostInside)), 1);
    strictEqual(locks.size, 0);
  },
};

export const leavesInOrder: LockCheck = {
  name: 'runs leaf sections of one guard one after another, in the order they were asked for (ING-T18)',
  async run(locks) {
    const section = new Section();
    const order: number[] = [];
    await locks.with(key('a'), async (guard) => {
      const inner = (at: number): Promise<void> =>
        locks.with(
          key('a'),
          (again) =>
            again.leaf(async () => {
              await section.pass();
              order.push(at);
            }),
          guard,
        );
      await Promise.all([inner(0), inner(1), guard.leaf(() => section.pass()), inner(2)]);
    });
    strictEqual(section.mostInside, 1);
    deepStrictEqual(order, [0, 1, 2]);
  },
};

export const detachedTaskIsNoOwner: LockCheck = {
  name: 'does not take a task that outlives the hold for its owner (ING-T19)',
  async run(locks) {
    const section = new Section();
    let wake = (): void => undefined;
    const asleep = new Promise<void>((resolve) => (wake = resolve));
    let detached: Promise<void> = Promise.resolve();
    let kept: KeyGuard | undefined;
    await locks.with(key('a'), async (guard) => {
      kept = guard;
      detached = asleep.then(() => locks.with(key('a'), () => section.pass()));
    });
    const guard = kept as KeyGuard;
    strictEqual(guard.isActive, false);
    await rejects(
      locks.with(key('a'), () => section.pass(), guard),
      { code: 'GUARD_STALE' },
    );
    await rejects(
      guard.leaf(() => section.pass()),
      { code: 'GUARD_STALE' },
    );
    const holder = locks.with(key('a'), async () => {
      wake();
      await section.pass();
      await section.pass();
    });
    await Promise.all([holder, detached]);
    strictEqual(section.mostInside, 1);
  },
};

export const sortedKeysCannotCross: LockCheck = {
  name: 'takes the keys of a request in sorted order, so that two requests never wait for each other (ING-314)',
  async run(locks) {
    const names = [key('a'), key('b'), key('c')];
    let letGo = (): void => undefined;
    const holder = locks.with(key('b'), () => new Promise<void>((resolve) => (letGo = resolve)));
    const served: string[] = [];
    const serve = async (keys: readonly Key[], name: string): Promise<void> => {
      await locks.withAll(keys, async () => served.push(name));
    };
    const requests = Promise.all([serve(names, 'up'), serve(names.toReversed(), 'down')]);
    await turn();
    letGo();
    await holder;
    await until('both requests are served', () => served.length === 2, 100);
    await requests;
    deepStrictEqual(served, ['up', 'down']);
  },
};

export const lockChecks: readonly LockCheck[] = [
  oneGuardPerKey,
  leavesInOrder,
  detachedTaskIsNoOwner,
  sortedKeysCannotCross,
];
