import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as afterFailureModule from '../../src/drain/after-failure.ts';
import type * as fixtureModule from './drain-fixture.ts';

/** What a failing read does, wherever in a worker's life it stands; and drains with one defect each, on which these checks turn red (ING-T00). */

type Fixtures = typeof fixtureModule;
type Guard = (fixtures: Fixtures) => Promise<void>;

const key = 'w~a' as never;

/** Posts and drains; from the `nth` read of key a on its reads fail. Returns how often they were tried, and what became of both keys. */
async function failingReads(
  { openDrain, note, notes }: Fixtures,
  nth: number,
  kind: 'corrupt' | 'retry',
  isMended = false,
): Promise<{
  readonly tries: number;
  readonly quarantine: string | undefined;
  readonly pending: number;
  readonly dead: number;
}> {
  const { queueWriteFailed, recordCorrupt } = await import('#queue');
  let reads = 0;
  let tries = 0;
  let isFailing = true;
  const fixture = openDrain({
    faults: {
      beforeRead(read) {
        if (read !== key || !isFailing || (reads += 1) < nth) return;
        tries += 1;
        if (kind === 'retry') throw queueWriteFailed({ reason: 'EIO', keys: [read] });
        throw recordCorrupt({ key: read, place: '0…9', reason: 'its checksum does not match' });
      },
    },
  });
  try {
    await fixture.post(...notes('a', 3));
    await fixture.clock.advance(2_000);
    await fixture.post(note('a', 9), ...notes('b', 3));
    await fixture.clock.advance(60_000);
    if (isMended) {
      isFailing = false;
      await fixture.clock.advance(60_000);
    }
    const status = await fixture.queue.keyStatus(key);
    const { pending, dead } = fixture.queue.totals();
    return { tries, quarantine: status?.quarantine?.code, pending, dead };
  } finally {
    await fixture.close();
  }
}

/** The first read, the re-check that finds nothing more, and the reads after the worker was idle: one answer for all (ING-406). */
const stopsOnce: Guard = async (fixtures) => {
  for (const nth of [1, 2, 3]) {
    const { tries, quarantine, dead } = await failingReads(fixtures, nth, 'corrupt');
    expect({ nth, tries, quarantine, dead }).toEqual({
      nth,
      tries: 1,
      quarantine: 'RECORD_CORRUPT',
      dead: 0,
    });
  }
};

const passes: Guard = async (fixtures) => {
  const { quarantine, pending, dead } = await failingReads(fixtures, 2, 'retry', true);
  expect({ quarantine, pending, dead }).toEqual({ quarantine: undefined, pending: 0, dead: 0 });
};

const mutants: readonly {
  readonly defect: string;
  readonly guard: Guard;
  readonly change: (real: typeof afterFailureModule) => object;
}[] = [
  {
    defect: 'damage is tried again and again (T05, T06)',
    guard: stopsOnce,
    change: (real) => ({
      afterFailure: (disposition: 'corrupt') =>
        disposition === 'corrupt' ? 'try-again' : real.afterFailure(disposition),
    }),
  },
  {
    defect: 'every failure of a read is taken for damage (T11)',
    guard: passes,
    change: (real) => ({
      afterFailure: (disposition: 'retry') =>
        disposition === 'retry' ? 'stop-key' : real.afterFailure(disposition),
    }),
  },
];

async function freshFixtures(): Promise<Fixtures> {
  vi.resetModules();
  return (await import('./drain-fixture.ts')) as Fixtures;
}

afterEach(() => {
  vi.doUnmock('../../src/drain/after-failure.ts');
});

describe('a read that meets damage', () => {
  it('stops its key once, at the main read, the re-check and after idling; others drain (ING-406…408, T05, T06)', async () => {
    const fixtures = await freshFixtures();
    await stopsOnce(fixtures);
    expect((await failingReads(fixtures, 1, 'corrupt')).pending, 'only those of the key').toBe(4);
  });

  it('is told from one that may pass, which is tried until it does (ING-405, T11)', async () => {
    await passes(await freshFixtures());
  });

  for (const { defect, guard, change } of mutants)
    it(`finds a drain in which ${defect}`, async () => {
      vi.doMock('../../src/drain/after-failure.ts', async (original) => {
        const real = await original<typeof afterFailureModule>();
        return { ...real, ...change(real) };
      });
      const fixtures = await freshFixtures();
      await expect(guard(fixtures)).rejects.toThrow(/expected/);
    });
});
