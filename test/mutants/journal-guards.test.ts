import { deepStrictEqual, notStrictEqual } from 'node:assert/strict';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as copyFramesModule from '../../queue-backends/filesystem/journal/copy-frames.ts';
import type * as frameModule from '../../queue-backends/filesystem/journal/frame.ts';
import type * as payloadsModule from '../../queue-backends/filesystem/journal/payloads.ts';
import type * as writerModule from '../../queue-backends/filesystem/writer.ts';
import type * as fixtureModule from './journal-fixture.ts';

/** Guards of the journal: each is green on the real thing and red on a variant of one of its modules with one defect (ING-T00). */
type Fixtures = typeof fixtureModule;

interface JournalGuard {
  readonly guard: string;
  readonly mutants: readonly {
    readonly defect: string;
    /** Below queue-backends/filesystem. */
    readonly module: string;
    readonly change: (real: never) => object;
  }[];
  check(fixtures: Fixtures): Promise<void>;
}

/** The last group of a killed daemon is half written; the next tenure goes on behind it. */
const tornTail: JournalGuard = {
  guard: 'G22',
  mutants: [
    {
      defect: 'a frame is taken without a look at its checksum (ING-T22)',
      module: 'journal/frame.ts',
      change: (real: typeof frameModule) => ({
        readFrame(bytes: Buffer, at: number, salt: number) {
          const { frameHeaderBytes } = real;
          if (real.isUnwritten(bytes, at, salt) || at + frameHeaderBytes > bytes.length)
            return undefined;
          const payloadBytes = bytes.readUInt32LE(at);
          const copy = Buffer.from(bytes.subarray(at, at + real.frameBytes(payloadBytes)));
          const header = {
            kind: copy.readUInt8(8) as frameModule.FrameKind,
            salt,
            sequence: real.readUInt64(copy, 16),
            tenure: real.readUInt64(copy, 24),
            synced: real.readUInt64(copy, 32),
            groupIndex: copy.readUInt32LE(40),
            groupCount: copy.readUInt32LE(44),
          };
          real.sealFrame(copy, 0, payloadBytes, header);
          return real.readFrame(copy, 0, salt);
        },
      }),
    },
  ],
  async check({ tornThenAppended }) {
    deepStrictEqual(await tornThenAppended(), [0, 2]);
  },
};

/** The sync of a group fails, then that of the ABANDON that follows it: both segments hold what was refused. */
const failedTwice: JournalGuard = {
  guard: 'G40',
  mutants: [
    {
      defect: 'ABANDON names the last segment only (ING-T40)',
      module: 'journal/payloads.ts',
      change: (real: typeof payloadsModule) => ({
        encodeAbandon: (poisoned: Parameters<typeof real.encodeAbandon>[0]) =>
          real.encodeAbandon(poisoned.slice(-1)),
      }),
    },
  ],
  async check({ refusedTwice }) {
    deepStrictEqual(await refusedTwice(), { s: [0], t: [2] });
  },
};

/** Frames of a key that cannot be written are carried along while the mark moves. */
const carriedAlong: JournalGuard = {
  guard: 'G41',
  mutants: [
    {
      defect: 'the mark moves before the copies are synced (ING-T41)',
      module: 'journal/copy-frames.ts',
      change: (real: typeof copyFramesModule) => ({
        async copyFrames(...given: Parameters<typeof real.copyFrames>) {
          void real.copyFrames(...given);
          return 0;
        },
      }),
    },
    {
      defect: 'copies get sequence numbers of their own (ING-T41)',
      module: 'journal/payloads.ts',
      change: (real: typeof payloadsModule) => ({
        encodeCopy: (...[keys, frames]: Parameters<typeof real.encodeCopy>) =>
          real.encodeCopy(
            keys,
            frames.map((frame, at) => ({ ...frame, sequence: frame.sequence + 1000 + at })),
          ),
      }),
    },
  ],
  async check({ crashesWhileCarrying }) {
    notStrictEqual(await crashesWhileCarrying(), 0);
  },
};

/** A daemon stands still in the middle of an append, another takes the row and reads what is there, and the first goes on. */
const takenOver: JournalGuard = {
  guard: 'G45',
  mutants: [
    {
      defect: 'a group is answered without a look at the lease row (ING-T45)',
      module: 'writer.ts',
      change: (_real: typeof writerModule) => ({ assertStillWriter: () => undefined }),
    },
  ],
  async check({ appendOfATenureTakenOver }) {
    deepStrictEqual(await appendOfATenureTakenOver(), {
      answer: 'TENURE_LOST',
      kept: [0, 2],
    });
  },
};

const guards = [tornTail, failedTwice, carriedAlong, takenOver];

async function freshFixtures(): Promise<Fixtures> {
  vi.resetModules();
  return (await import('./journal-fixture.ts')) as Fixtures;
}

afterEach(() => {
  for (const { mutants } of guards)
    for (const { module } of mutants) vi.doUnmock(`../../queue-backends/filesystem/${module}`);
});

describe.each(guards)('the guard $guard', ({ guard, mutants, check }) => {
  it(`is green on the real code (${guard})`, async () => {
    await check(await freshFixtures());
  });

  it.each(mutants)('turns red where $defect', async ({ module, change }) => {
    vi.doMock(`../../queue-backends/filesystem/${module}`, async (original) => {
      const real = await original<object>();
      return { ...real, ...change(real as never) };
    });
    const fixtures = await freshFixtures();
    await expect(check(fixtures)).rejects.toThrow();
  });
});
