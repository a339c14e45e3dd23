import { describe, expect, it } from 'vitest';
import { Gate } from '#base';

const never = new AbortController().signal;

/** A section that runs until it is told to end. */
function section(gate: Gate): { readonly end: () => void; readonly done: Promise<string> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    end: resolve,
    done: gate.pass(async () => {
      await promise;
      return 'ran';
    }),
  };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  return (await Promise.race([promise, Promise.resolve(open)])) !== open;
}

describe('a gate', () => {
  it('holds once the sections that run have ended, and lets none begin meanwhile (D31)', async () => {
    const gate = new Gate();
    const first = section(gate);
    const holding = gate.hold(never);
    const second = section(gate);
    second.end();
    expect(await isSettled(holding)).toBe(false);
    first.end();
    const letGo = await holding;
    expect(gate.isHeld).toBe(true);
    expect(await isSettled(second.done)).toBe(false);
    letGo();
    letGo();
    expect(await second.done).toBe('ran');
    expect(gate.isHeld).toBe(false);
  });

  it('opens again when a hold gives up waiting, or a section fails', async () => {
    const gate = new Gate();
    const slow = section(gate);
    const enough = new AbortController();
    const holding = gate.hold(enough.signal);
    enough.abort(new Error('too long'));
    await expect(holding).rejects.toThrow('too long');
    const next = section(gate);
    next.end();
    expect(await next.done).toBe('ran');
    slow.end();
    await slow.done;
    await expect(gate.pass(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    (await gate.hold(never))();
  });

  it('stays shut until the last of several holders has let go', async () => {
    const gate = new Gate();
    const [one, two] = [await gate.hold(never), await gate.hold(never)];
    const waiting = section(gate);
    waiting.end();
    one();
    expect(await isSettled(waiting.done)).toBe(false);
    two();
    expect(await waiting.done).toBe('ran');
  });

  it('keeps nobody once it is broken', async () => {
    const gate = new Gate();
    await gate.hold(never);
    const waiting = section(gate);
    waiting.end();
    gate.break();
    expect(await waiting.done).toBe('ran');
    expect(gate.isHeld).toBe(false);
  });
});
