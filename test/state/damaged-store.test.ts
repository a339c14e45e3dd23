import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames, whoHolds } from '#disk';
import { daemonNoticed } from '#signals';
import { openGuardedState, openLmdbState, type GuardedState } from '#state';
import { seal, unseal } from '../../src/state/seal.ts';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const permit = testPermit();
const idsCount = 300;
const key = testKey();

/** A store with ids and progress, closed in order. */
async function fill(directory: string): Promise<void> {
  await nodeDisk().makeDirectory(directory);
  const state = await openLmdbState({ directory, permit, chance: systemChance });
  const entry = { ordinal: 0, length: 1, status: 'live', isDerivedId: false } as const;
  await state.write(
    permit,
    Array.from({ length: idsCount }, (_, offset) => ({
      table: 'dedup' as const,
      key,
      eventId: `id-${offset}`,
      entry: { ...entry, offset },
    })),
  );
  await state.write(permit, [
    { table: 'progress', key, progress: { epoch: 'e', indexedThrough: idsCount } },
    { table: 'epoch', key, ordinal: 7, epoch: 'an epoch that has ended' },
    { table: 'checkpoint', through: 9 },
  ]);
  await state.close();
}

function openGuarded(
  directory: string,
  left: 'same' | 'changed' | 'unknown',
  stopping: AbortSignal = new AbortController().signal,
): Promise<GuardedState> {
  return openGuardedState({
    directory,
    permit,
    chance: systemChance,
    disk: nodeDisk(),
    clock: systemClock,
    names: stagingNames(process.pid, systemChance),
    left,
    stopping,
  });
}

function found({ state }: GuardedState): number {
  return Array.from({ length: idsCount }, (_, at) => state.getDedup(key, `id-${at}`)).filter(
    (entry) => entry !== undefined,
  ).length;
}

/** Changes one byte of the value that holds these bytes. */
async function flipAt(directory: string, marker: string): Promise<void> {
  const path = join(directory, 'data.mdb');
  const bytes = await readFile(path);
  // Pages that were written over are still there: every copy is changed.
  for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + 1))
    bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

async function withStore(act: (directory: string) => Promise<void>): Promise<void> {
  await withTemporaryDirectory(async (root) => {
    const directory = join(root, 'daemon');
    await fill(directory);
    await act(directory);
  });
}

describe('a seal', () => {
  const value = Buffer.from('a value');
  it('tells a changed value, a changed key and a value under another key (P7)', () => {
    const sealed = seal(Buffer.from('k'), value);
    expect(unseal(Buffer.from('k'), sealed)).toMatchObject({ isSealed: true });
    expect(unseal(Buffer.from('l'), sealed)).toHaveProperty('fault');
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 16;
      expect(unseal(Buffer.from('k'), changed), `byte ${at}`).toHaveProperty('fault');
    }
  });

  it('is missing from values of the first version, and they are read', () => {
    for (const bare of [Buffer.from('{"v":1}'), Buffer.from([1, 0, 3])])
      expect(unseal(Buffer.from('k'), bare)).toEqual({ value: bare, isSealed: false });
  });
});

describe('a state store with a changed byte', () => {
  it.each(['changed', 'unknown'] as const)(
    'is set aside when it is opened (%s), and what is sound is kept (SC-052, P7)',
    (left) =>
      withStore(async (directory) => {
        await flipAt(directory, 'an epoch that has ended');
        const guarded = await openGuarded(directory, left);
        expect(await guarded.losses()).toMatchObject([{ kind: 'damaged' }]);
        expect(found(guarded)).toBe(idsCount);
        expect(guarded.state.getEpoch(key, 7)).toBeUndefined();
        // The logs are indexed anew from their beginning, and the key does not count as new.
        expect(guarded.state.getProgress(key)).toEqual({ epoch: '', indexedThrough: 0 });
        expect(guarded.state.checkpointedThrough()).toBe(0);
        await guarded.state.close();
      }),
  );

  it('that nobody has looked at tells the reader, is not served twice, and the next start sets it aside', () =>
    withStore(async (directory) => {
      await flipAt(directory, 'an epoch that has ended');
      const guarded = await openGuarded(directory, 'same');
      expect(guarded.damage()).toBeUndefined();
      expect(() => guarded.state.getEpoch(key, 7)).toThrow('is damaged (its checksum');
      expect(guarded.damage()).toMatchObject({ code: 'STATE_CORRUPT' });
      expect(found(guarded)).toBe(idsCount);
      await expect.poll(() => readdir(join(directory, '..'))).toContain('daemon.opening');
      await guarded.state.close();
      const next = await openGuarded(directory, 'same');
      expect(await next.losses()).toMatchObject([{ kind: 'damaged' }]);
      await next.state.close();
    }));

  it('that is sound but not as it was left is indexed again from the logs', () =>
    withStore(async (directory) => {
      const guarded = await openGuarded(directory, 'changed');
      expect(await guarded.losses()).toEqual([]);
      expect(found(guarded)).toBe(idsCount);
      expect(guarded.state.getProgress(key)).toEqual({ epoch: '', indexedThrough: 0 });
      expect(guarded.state.checkpointedThrough()).toBe(9);
      await guarded.state.close();
    }));
});

describe('a state store of which nothing can be read', () => {
  it.each([
    ['garbage', (bytes: Buffer) => Buffer.alloc(bytes.length, 0xa5)],
    ['its first half', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['zeroes in its middle', (bytes: Buffer) => bytes.fill(0, bytes.length / 4, bytes.length / 2)],
  ])('is kept, and a new one begun: %s (SC-052)', (_, harm) =>
    withStore(async (directory) => {
      const path = join(directory, 'data.mdb');
      await writeFile(path, harm(await readFile(path)));
      const guarded = await openGuarded(directory, 'unknown');
      expect(await guarded.losses()).toMatchObject([{ kind: 'damaged' }]);
      expect(guarded.state.checkpointedThrough()).toBe(0);
      await guarded.state.close();
    }),
  );
});

/** With a store that another process holds in the middle of a write, and what a start that waits for it tells. */
function withHeldStore(
  use: (directory: string, holder: ChildProcess, told: readonly string[]) => Promise<void>,
): Promise<void> {
  return withStore(async (directory) => {
    const script = fileURLToPath(new URL('state-holder.ts', import.meta.url));
    const holder = spawn(process.execPath, [script, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const told: string[] = [];
    const end = daemonNoticed.subscribe(({ code, message }) => told.push(`${code} ${message}`));
    try {
      await once(holder.stdout, 'data');
      await use(directory, holder, told);
    } finally {
      end();
      holder.kill('SIGKILL');
    }
  });
}

/** The process of a start that looks at the store. */
async function lookerAt(directory: string, holder: ChildProcess): Promise<number> {
  const path = join(directory, 'lock.mdb');
  const lookers = (): Promise<readonly number[]> => whoHolds(path, [holder.pid ?? 0]);
  await expect.poll(async () => (await lookers()).length).toBe(1);
  return (await lookers())[0] ?? 0;
}

describe('a state store that a stopped process holds', () => {
  it('has the start tell whom it waits for, and go on once that one is gone (ING-T25)', () =>
    withHeldStore(async (directory, holder, told) => {
      const opening = openGuarded(directory, 'unknown');
      await expect.poll(() => told.length).toBe(1);
      expect(told[0]).toContain(`STATE_HELD`);
      // Not the one that looks on behalf of the start, too: who ends that one helps nobody.
      expect(told[0]).toContain(`${directory}/lock.mdb is held by process ${holder.pid};`);
      holder.kill('SIGKILL');
      const guarded = await opening;
      expect(found(guarded)).toBe(idsCount);
      expect(await guarded.losses()).toEqual([]);
      await guarded.state.close();
    }));

  it('is waited for no longer once the start is stopped, and stays as it is (P10, ING-T25)', () =>
    withHeldStore(async (directory, holder) => {
      const stop = new AbortController();
      const opening = openGuarded(directory, 'unknown', stop.signal);
      opening.catch(() => undefined);
      const looker = await lookerAt(directory, holder);
      stop.abort();
      await expect(opening).rejects.toBe(stop.signal.reason);
      expect(await whoHolds(join(directory, 'lock.mdb'), [holder.pid ?? 0])).not.toContain(looker);
      expect(await readdir(join(directory, '..'))).toEqual(['daemon']);
    }));

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'is not taken for a damaged one when %s from outside ends the look at it (SC-052)',
    (signal) =>
      withHeldStore(async (directory, holder) => {
        const opening = openGuarded(directory, 'unknown');
        const refused = expect(opening).rejects.toMatchObject({
          code: 'STATE_LOOK_ENDED',
          details: { signal },
        });
        process.kill(await lookerAt(directory, holder), signal);
        await refused;
        expect(await readdir(join(directory, '..'))).toEqual(['daemon']);
        holder.kill('SIGKILL');
        const guarded = await openGuarded(directory, 'unknown');
        expect(found(guarded)).toBe(idsCount);
        await guarded.state.close();
      }),
  );
});

describe('a store that was being replaced when the start was killed', () => {
  it('takes its place when it is whole, and is made anew when the old one is still there', () =>
    withStore(async (directory) => {
      const disk = nodeDisk();
      await disk.rename(directory, `${directory}.salvaged`);
      await disk.makeDirectory(directory);
      const guarded = await openGuarded(directory, 'unknown');
      expect(found(guarded)).toBe(idsCount);
      await guarded.state.close();
      await disk.makeDirectory(`${directory}.salvaged`);
      await (await openGuarded(directory, 'unknown')).state.close();
      expect(await readdir(join(directory, '..'))).toEqual(['daemon']);
    }));
});
