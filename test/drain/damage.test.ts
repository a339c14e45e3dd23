import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as afterFailureModule from '../../src/drain/worker/after-failure.ts';
import type { AppendInput } from '#queue';
import type * as readBatchModule from '../../src/drain/worker/read-batch.ts';
import type { Worker } from '../../src/drain/worker/worker.ts';
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

/** Damage that no read has met until `begins`: what the worker that meets it makes of it within a minute. */
async function damagedSince(
  { openDrain }: Fixtures,
  records: readonly AppendInput[],
  begins: 'the last commit' | 'the worker idles',
): Promise<{ readonly tries: number; readonly quarantine: string | undefined }> {
  const { recordCorrupt } = await import('#queue');
  let tries = 0;
  let isDamaged = false;
  const fixture = openDrain({
    settings: { idleExitMs: 5_000 },
    faults: {
      afterCommit() {
        isDamaged ||= begins === 'the last commit';
      },
      beforeRead(read) {
        if (!isDamaged) return;
        tries += 1;
        throw recordCorrupt({ key: read, place: '0…9', reason: 'its checksum does not match' });
      },
    },
  });
  try {
    await fixture.post(...records);
    if (begins === 'the worker idles') {
      await fixture.drained();
      isDamaged = true;
    }
    await fixture.clock.advance(60_000);
    const status = await fixture.queue.keyStatus(key);
    return { tries, quarantine: status?.quarantine?.code };
  } finally {
    await fixture.close();
  }
}

const once = { tries: 1, quarantine: 'RECORD_CORRUPT' };

const stopsBeforeItLeaves: Guard = async (fixtures) => {
  expect(await damagedSince(fixtures, fixtures.notes('a', 3), 'the worker idles')).toEqual(once);
};

const stopsBehindTheEnd: Guard = async (fixtures) => {
  const { note } = fixtures;
  const records = [note('a', 0), note('a', 1, {}, 'session:end')];
  expect(await damagedSince(fixtures, records, 'the last commit')).toEqual(once);
};

/** A read beside the one place: what fails there reaches the worker without its class, as from a call that nobody answers for. */
function readBeside(isHere: (worker: Worker) => boolean): (real: object) => object {
  return (real) => ({
    async readBatch(...[engine, worker]: Parameters<typeof readBatchModule.readBatch>) {
      const { readBatch } = real as typeof readBatchModule;
      if (!isHere(worker)) return readBatch(engine, worker);
      try {
        return await readBatch(engine, worker);
      } catch (error) {
        throw new Error(String(error), { cause: error });
      }
    },
  });
}

const mutants: readonly {
  readonly defect: string;
  readonly guard: Guard;
  readonly module?: string;
  readonly change: (real: typeof afterFailureModule) => object;
}[] = [
  {
    defect: 'the re-check before a worker leaves reads beside the one place (T05)',
    guard: stopsBeforeItLeaves,
    module: 'worker/read-batch',
    change: readBeside(({ isLeaving }) => isLeaving),
  },
  {
    defect: 'what stands behind the end of a session is read beside the one place (T06)',
    guard: stopsBehindTheEnd,
    module: 'worker/read-batch',
    change: readBeside(({ baseline }) => baseline?.cursor.terminal_seen === true),
  },
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
  for (const module of ['worker/after-failure', 'worker/read-batch'])
    vi.doUnmock(`../../src/drain/${module}.ts`);
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

  it('before a worker leaves stops its key once (ING-406, T05)', async () => {
    await stopsBeforeItLeaves(await freshFixtures());
  });

  it('behind the end of a session stops its key once (ING-406, T06)', async () => {
    await stopsBehindTheEnd(await freshFixtures());
  });

  for (const { defect, guard, module = 'worker/after-failure', change } of mutants)
    it(`finds a drain in which ${defect}`, async () => {
      vi.doMock(`../../src/drain/${module}.ts`, async (original) => {
        const real = await original<typeof afterFailureModule>();
        return { ...real, ...change(real) };
      });
      const fixtures = await freshFixtures();
      await expect(guard(fixtures)).rejects.toThrow(/expected/);
    });
});
