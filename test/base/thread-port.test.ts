import { describe, expect, it } from 'vitest';
import { MillraceError, ThreadPort } from '#base';
import { seededChance } from '../support/chance.ts';
import { fakeClock, type FakeClock } from '../support/clock.ts';

interface Order {
  readonly kind: 'hello' | 'die' | 'exit' | 'never';
}

function makePort(opens: () => boolean = () => true): {
  readonly port: ThreadPort<Order>;
  readonly clock: FakeClock;
} {
  const clock = fakeClock();
  const port = new ThreadPort<Order>({
    source: new URL('./mortal-thread.ts', import.meta.url),
    startData: () => ({ opens: opens() }),
    unavailable: (reason) => new MillraceError('AWAY', 'retry', reason, {}),
    decodeFailure: (failure) => Object.assign(new Error(), failure),
    clock,
    chance: seededChance(1),
  });
  return { port, clock };
}

const away = { code: 'AWAY', disposition: 'retry' };

describe('the port of a worker thread', () => {
  it('fails all that waits when the thread dies, and starts another after a wait', async () => {
    const { port, clock } = makePort();
    expect(await port.open()).toEqual({ graphId: 'g', spillBytes: 1 });
    const waiting = [port.call({ kind: 'never' }), port.call({ kind: 'die' })];
    for (const call of waiting) await expect(call).rejects.toMatchObject(away);
    await expect(port.call({ kind: 'hello' })).rejects.toMatchObject(away);
    await clock.advance(100);
    expect(await port.call({ kind: 'hello' })).toBe('hello');
    await port.close();
  });

  it('waits longer each time that the thread dies without an answer, and at most 30 s', async () => {
    const { port, clock } = makePort();
    await port.open();
    for (let round = 0; round < 12; round += 1) {
      await expect(port.call({ kind: 'exit' })).rejects.toMatchObject(away);
      await clock.advance(30_000);
    }
    await expect(port.call({ kind: 'exit' })).rejects.toMatchObject(away);
    await clock.advance(10_000);
    await expect(port.call({ kind: 'hello' })).rejects.toMatchObject(away);
    await clock.advance(20_000);
    expect(await port.call({ kind: 'hello' })).toBe('hello');
    await expect(port.call({ kind: 'exit' })).rejects.toMatchObject(away);
    await clock.advance(100);
    expect(await port.call({ kind: 'hello' })).toBe('hello');
    await port.close();
  });

  it('passes on why a thread could not open its file, to all that wait for it', async () => {
    let isWell = false;
    const { port, clock } = makePort(() => isWell);
    const opening = port.open();
    const early = port.call({ kind: 'hello' });
    for (const call of [opening, early])
      await expect(call).rejects.toMatchObject({ code: 'GRAPH_DENIED', message: 'not today' });
    isWell = true;
    await clock.advance(100);
    expect(await port.call({ kind: 'hello' })).toBe('hello');
    await port.close();
  });

  it('refuses with "later" once 1024 requests wait (P9)', async () => {
    const { port } = makePort();
    await port.open();
    const calls = Array.from({ length: 1024 }, () => port.call({ kind: 'never' }));
    await expect(port.call({ kind: 'hello' })).rejects.toMatchObject(away);
    const ended = Promise.allSettled(calls);
    await port.close();
    expect((await ended).filter(({ status }) => status === 'rejected')).toHaveLength(1024);
  });

  it('ends a thread that does not finish within 10 s of being closed (P10)', async () => {
    const { port, clock } = makePort();
    await port.open();
    const closing = port.close({ kind: 'never' });
    const ended = expect(closing).rejects.toMatchObject(away);
    await clock.advance(10_000);
    await ended;
    await expect(port.call({ kind: 'hello' })).rejects.toMatchObject(away);
    await port.close();
  });
});
