import { describe, expect, it } from 'vitest';
import { sha256Hex } from '#base';
import { openControlDatabase } from '#control';
import { memoryDisk } from '#disk';
import type { QuietSession } from '#graph';
import { objectShelf, sessionShelf, watchedObjects, type RetainedSession } from '#keeping';
import { openLocalObjects } from '#objects';
import { sessionPending, type KeyStatus } from '#queue';
import { encodeKey, type Key } from '#record';
import { fakeClock } from '../support/clock.ts';

const at = '2025-06-01T00:00:00.000Z';

/** Sessions by name, what the books say of each, and those that were removed together. */
function sessionsBench(books: Readonly<Record<string, Partial<KeyStatus>>>) {
  const clock = fakeClock();
  const removed: (readonly string[])[] = [];
  const state = { pendingAtRemoval: new Set<string>(), lastAt: at };
  const { notices } = openControlDatabase(':memory:', { clock });
  const shelf = sessionShelf({
    clock,
    notices,
    graph: { usedBytes: async () => 5000 },
    ledger: {
      async keyStatus(key: Key) {
        const name = Object.keys(books).find((one) => encodeKey('w', one) === key);
        const own = name === undefined ? undefined : books[name];
        if (own === undefined) return undefined;
        return { key, pending: 0, dead: 0, quarantine: null, ...own } as KeyStatus;
      },
    },
    removal: {
      quiet: async ({ limit }) =>
        Object.keys(books)
          .slice(0, limit)
          .map((session): QuietSession => ({ workspace: 'w', session, lastAt: state.lastAt })),
      survey: async () => ({ nodes: 1, bytes: 700, objects: 0 }),
      async remove(sessions) {
        const pending = sessions.find(({ session }) => state.pendingAtRemoval.has(session));
        if (pending !== undefined) throw sessionPending({ key: pending.key });
        removed.push(sessions.map(({ session }) => session));
        return { nodes: 1, edges: 0, objects: 0 };
      },
    },
  });
  return { shelf, clock, removed, state };
}

const quarantine = { code: 'X', message: 'x', since: at };
const never = new AbortController().signal;

describe('sessions that may go', () => {
  it('are at rest: none with records that wait, unsettled dead letters or damage (P4)', async () => {
    const bench = sessionsBench({
      free: {},
      waits: { pending: 1 },
      dead: { dead: 2 },
      stopped: { quarantine },
    });
    const { items, bytes } = await bench.shelf.look(9);
    expect(bytes).toBe(5000);
    const said = new Map<string, unknown>();
    for (const item of items) said.set(item.session, await bench.shelf.inspect(item));
    expect(Object.fromEntries(said)).toEqual({
      free: { bytes: 700 },
      waits: { bytes: 0, refused: 'SESSION_PENDING' },
      dead: { bytes: 0, refused: 'SESSION_HAS_DEAD_LETTERS' },
      stopped: { bytes: 0, refused: 'SESSION_QUARANTINED' },
    });
    const taken = await bench.shelf.take(items, never);
    expect(bench.removed).toEqual([['free']]);
    expect(taken.filter(({ refused }) => refused === undefined)).toEqual([{ name: 'w/free' }]);
  });

  it('go together, and one by one where one of them has come to life meanwhile', async () => {
    const bench = sessionsBench({ a: {}, b: {}, c: {} });
    bench.state.pendingAtRemoval.add('b');
    const { items } = await bench.shelf.look(9);
    const taken = await bench.shelf.take(items, never);
    expect(bench.removed).toEqual([['a'], ['c']]);
    expect(taken).toEqual([
      { name: 'w/a' },
      { name: 'w/b', refused: 'SESSION_PENDING' },
      { name: 'w/c' },
    ]);
  });

  it('are told once, and anew after another event', async () => {
    const { shelf, clock, state } = sessionsBench({ a: {} });
    const toldOf = async (): Promise<number | undefined> =>
      shelf.toldAtMs?.((await shelf.look(9)).items as readonly RetainedSession[]).get('w/a');
    const first = clock.now();
    expect(await toldOf()).toBe(first);
    await clock.advance(5000);
    expect(await toldOf()).toBe(first);
    state.lastAt = '2025-06-02T00:00:00.000Z';
    expect(await toldOf()).toBe(first + 5000);
    state.lastAt = at;
    expect(await toldOf()).toBe(first + 5000);
  });
});

describe('large values that may go', () => {
  it('are as old as the last event that names them, and stay where one came again meanwhile', async () => {
    const clock = fakeClock();
    const disk = memoryDisk({ directories: ['/root'] });
    const objects = watchedObjects(await openLocalObjects({ directory: '/root/objects', disk }));
    const put = async (text: string): Promise<string> => {
      const name = sha256Hex(Buffer.from(text));
      await objects.put(name, Buffer.from(text), 'application/json');
      return name;
    };
    const [free, named, again] = [await put('"free"'), await put('"named"'), await put('"again"')];
    const until = new Map([[named, '2035-01-01T00:00:00.000Z']]);
    const { expiredObjects: expired } = openControlDatabase(':memory:', { clock });
    let onSecondLook: () => Promise<unknown> = () => Promise.resolve();
    const shelf = objectShelf({
      objects,
      expired,
      clock,
      drain: { pause: () => Promise.resolve(() => undefined) },
      graph: {
        async namedUntil(asked) {
          await onSecondLook();
          return new Map([...until].filter(([name]) => asked.includes(name)));
        },
      },
    });
    const { items, bytes } = await shelf.look(9);
    expect(bytes).toBe(6 + 7 + 7);
    const byName = new Map(items.map((item) => [item.name, item]));
    expect(items.at(-1)?.name).toBe(named);
    expect(byName.get(named)?.atMs).toBe(Date.UTC(2035, 0, 1));
    onSecondLook = () => put('"again"');
    const taken = await shelf.take(items, never);
    expect(taken.find(({ name }) => name === again)?.refused).toBe('OBJECT_IN_USE');
    expect([await objects.has(free), await objects.has(again)]).toEqual([false, true]);
    expect(expired.expiredAt(free)).toBe(new Date(clock.now()).toISOString());
    expect(expired.expiredAt(again)).toBeUndefined();
  });
});
