import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { emptyCursor, formatPosition } from '#record';
import { memoryState, openLmdbState, type KeyRow } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const key = testKey();
const row: KeyRow = {
  ordinal: 0,
  epoch: 'e',
  position: formatPosition({ ordinal: 0, epoch: 'e', offset: 1 }),
  appliedPosition: null,
  sha256: null,
  cursor: emptyCursor(),
  totals: { accepted: 1, applied: 1, dead: 0, discarded: 0, duplicates: 0 },
  workspace: 'w',
  session: 's',
  owner: 'agent',
};
const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;

/** Opens a state, lets the test spoil its bytes as another program would, and opens it again. */
async function afterDamage(
  spoil: (
    put: (table: string | undefined, key: Buffer, value: Buffer) => Promise<unknown>,
  ) => Promise<void>,
  check: (open: () => ReturnType<typeof openLmdbState>) => Promise<void>,
): Promise<void> {
  await withTemporaryDirectory(async (root) => {
    const directory = join(root, 'state');
    const openState = (): ReturnType<typeof openLmdbState> =>
      openLmdbState({ directory, permit: testPermit(), chance: systemChance });
    const state = await openState();
    await state.write(testPermit(), [{ table: 'row', key, row }]);
    await state.close();
    const raw = open<Buffer, Buffer>({ path: directory, noSubdir: false, maxDbs: 8, ...binary });
    await spoil((table, at, value) =>
      table === undefined
        ? raw.put(at, value)
        : raw.openDB({ name: table, ...binary }).put(at, value),
    );
    await raw.close();
    await check(openState);
  });
}

describe('stored forms of the state', () => {
  it('names a row of a newer version instead of half reading it', async () => {
    await afterDamage(
      async (put) => {
        await put('row', Buffer.from(key), Buffer.from(JSON.stringify({ v: 2, ...row })));
      },
      async (openState) => {
        const state = await openState();
        expect(() => state.getRow(key)).toThrow(
          expect.objectContaining({ code: 'FORMAT_TOO_NEW' }),
        );
        await state.close();
      },
    );
  });

  it('refuses to open an environment of a newer format', async () => {
    await afterDamage(
      async (put) => {
        await put(undefined, Buffer.from('\0format'), Buffer.from('{"v":3,"state_uuid":"u"}'));
      },
      async (openState) => {
        await expect(openState()).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' });
      },
    );
  });

  it.each([
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe])],
    ['no version', Buffer.from('{}')],
    ['a cursor that cannot be built', Buffer.from(JSON.stringify({ v: 1, ...row, cursor: {} }))],
    ['a position that is none', Buffer.from(JSON.stringify({ v: 1, ...row, position: '12' }))],
    [
      'totals that are none',
      Buffer.from(JSON.stringify({ v: 1, ...row, totals: { applied: -1 } })),
    ],
    ['nothing at all', Buffer.alloc(0)],
  ])('stops one key for a row with %s (P7)', async (_, bytes) => {
    await afterDamage(
      async (put) => {
        await put('row', Buffer.from(key), bytes);
      },
      async (openState) => {
        const state = await openState();
        expect(() => state.getRow(key)).toThrow(
          expect.objectContaining({ code: 'STATE_CORRUPT', disposition: 'corrupt' }),
        );
        expect(state.getRow(testKey('other'))).toBeUndefined();
        await state.close();
      },
    );
  });

  it('keeps the name of the environment over reopenings (FEN-702)', async () => {
    await withTemporaryDirectory(async (root) => {
      const order = { directory: join(root, 'state'), permit: testPermit(), chance: systemChance };
      const first = await openLmdbState(order);
      await first.close();
      const again = await openLmdbState(order);
      expect(again.stateUuid).toBe(first.stateUuid);
      await again.close();
    });
  });

  it('knows every state that a power loss may leave, none before the last flush (P1)', async () => {
    const state = memoryState({ permit: testPermit() });
    const through = (indexedThrough: number): Promise<void> =>
      state.write(testPermit(), [
        { table: 'progress', key, progress: { epoch: 'e', indexedThrough } },
      ]);
    await through(1);
    await state.flush();
    await through(2);
    await through(3);
    const left = state
      .snapshots()
      .map((from) => memoryState({ from }).getProgress(key)?.indexedThrough);
    expect(left).toEqual([1, 2, 3]);
    state.restore(state.flushed());
    expect(state.getProgress(key)?.indexedThrough).toBe(1);
    await state.close();
    expect(state.snapshots()).toHaveLength(1);
  });
});
