import { describe, expect, it } from 'vitest';
import { createClosers } from '../../src/daemon/boot/closers.ts';
import { createPhaseHolder } from '../../src/daemon/boot/phase.ts';
import { fakeClock } from '../support/clock.ts';

describe('closing', () => {
  it('closes in reverse and goes on after a failure', async () => {
    const order: string[] = [];
    const closers = createClosers();
    closers.add('lock', () => void order.push('lock'));
    closers.add('store', () => {
      order.push('store');
      throw new Error('will not');
    });
    closers.add('server', async () => {
      await Promise.resolve();
      order.push('server');
    });
    const failures = await closers.closeAll(fakeClock(), 1000);
    expect(order).toEqual(['server', 'store', 'lock']);
    expect(failures).toEqual([{ name: 'store', error: new Error('will not') }]);
    expect(await closers.closeAll(fakeClock(), 1000)).toEqual([]);
  });

  it('leaves behind what does not close by the deadline, and still closes the rest (P10)', async () => {
    const clock = fakeClock();
    const order: string[] = [];
    const closers = createClosers();
    closers.add('lock', () => void order.push('lock'));
    closers.add('stuck', () => new Promise<void>(() => undefined));
    const closing = closers.closeAll(clock, clock.monotonic() + 500);
    await clock.advance(499);
    expect(order).toEqual([]);
    await clock.advance(1);
    const failures = await closing;
    expect(order).toEqual(['lock']);
    expect(failures.map(({ name }) => name)).toEqual(['stuck']);
    expect(clock.waitingCount()).toBe(0);
  });
});

describe('phase', () => {
  it('goes from start to stop, and nowhere else', () => {
    const phase = createPhaseHolder();
    for (const step of ['recovering', 'ready', 'draining', 'stopped'] as const)
      phase.enter(step, '');
    expect(phase.phase).toBe('stopped');
    expect(() => phase.enter('ready', '')).toThrow(/cannot become/);
  });

  it('never serves again once it was fenced', () => {
    const phase = createPhaseHolder();
    phase.enter('recovering', '');
    phase.enter('fenced', '');
    expect(() => phase.enter('ready', '')).toThrow(/cannot become/);
    phase.enter('stopped', '');
  });
});
