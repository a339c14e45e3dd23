import { describe, expect, it } from 'vitest';
import { createKeyLocks } from '#queue';
import type { Key } from '#record';
import { Filler } from '../../../queue-backends/filesystem/session/filler.ts';
import type { KeyState } from '../../../queue-backends/filesystem/session/key-state.ts';
import type { SessionFiles } from '../../../queue-backends/filesystem/session/session-files.ts';
import { fakeClock, type FakeClock } from '../../support/clock.ts';

const limit = 64 * 1024;

/** Of a key's state what a filler looks at. */
function stateOf(name: string): KeyState {
  const state = { key: name as Key, end: 0, filledTo: 0, hasSoundRecord: true, isOpen: true };
  return { ...state, isFinalising: false, hasFolder: true } as KeyState;
}

function setUp(fault?: () => Error | undefined): {
  readonly clock: FakeClock;
  readonly filler: Filler;
  readonly filled: Map<string, number>;
} {
  const clock = fakeClock();
  const filled = new Map<string, number>();
  const files = {
    fill(state: KeyState) {
      filled.set(state.key, (filled.get(state.key) ?? 0) + 1);
      const error = fault?.();
      if (error !== undefined) return Promise.reject(error);
      state.filledTo = state.end;
      return Promise.resolve();
    },
  } as unknown as SessionFiles;
  const locks = createKeyLocks({ clock, warnMs: 60_000, onSlow: () => undefined });
  const makeFolder = (): Promise<void> => Promise.resolve();
  return { clock, filler: new Filler({ clock, files, makeFolder, locks }), filled };
}

function grow(filler: Filler, state: KeyState, bytes: number): void {
  state.end += bytes;
  filler.want(state);
}

describe('carrying lines into the session files (QFS-10)', () => {
  it('writes a file once in 200 ms, however often lines come', async () => {
    const { clock, filler, filled } = setUp();
    const state = stateOf('a');
    for (let ms = 0; ms < 1000; ms += 10) {
      grow(filler, state, 100);
      await clock.advance(10);
    }
    expect(filled.get('a')).toBe(5);
    expect(state.filledTo).toBe(state.end);
    await filler.close();
  });

  it('lets the files of many sessions rest for longer, a millisecond for each', async () => {
    const { clock, filler, filled } = setUp();
    const states = Array.from({ length: 1000 }, (_, at) => stateOf(`key-${at}`));
    const round = async (ms: number): Promise<void> => {
      for (const state of states) grow(filler, state, 100);
      await clock.advance(ms);
    };
    await round(200);
    expect([...filled.values()].every((count) => count === 1)).toBe(true);
    await round(900);
    expect(filled.get('key-0')).toBe(1);
    await clock.advance(100);
    expect([...filled.values()].every((count) => count === 2)).toBe(true);
    expect(states.every(({ filledTo, end }) => filledTo === end)).toBe(true);
    await filler.close();
  });

  it('writes a file with 64 KiB to come at once, and leaves the others to their time', async () => {
    const { clock, filler, filled } = setUp();
    const [quiet, busy] = [stateOf('quiet'), stateOf('busy')];
    grow(filler, quiet, 100);
    for (let times = 0; times < 10; times += 1) {
      grow(filler, busy, limit + 1);
      await clock.advance(1);
    }
    expect([filled.get('busy'), filled.get('quiet')]).toEqual([10, undefined]);
    await clock.advance(200);
    expect(filled.get('quiet')).toBe(1);
    await filler.close();
  });

  it('tries a file that fails again after a rest, and not without end', async () => {
    let isBroken = true;
    const { clock, filler, filled } = setUp(() => (isBroken ? new Error('EIO') : undefined));
    const state = stateOf('a');
    grow(filler, state, limit + 1);
    await clock.advance(1000);
    expect(filled.get('a')).toBeLessThanOrEqual(6);
    expect(filler.trouble).toBeDefined();
    isBroken = false;
    await clock.advance(200);
    expect(state.filledTo).toBe(state.end);
    expect(filler.trouble).toBeUndefined();
    await filler.close();
  });
});
