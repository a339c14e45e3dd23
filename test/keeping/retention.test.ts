import { describe, expect, it } from 'vitest';
import { openControlDatabase } from '#control';
import {
  createRetention,
  type RetainedItem,
  type Retention,
  type RetentionRule,
  type Shelf,
} from '#keeping';
import { queueWriteFailed } from '#queue';
import { daemonNoticed, retentionTaken } from '#signals';
import { fakeClock } from '../support/clock.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A shelf of things of ten bytes, and what happened to it. */
function shelfOf(clock: { now(): number }, changes: Partial<Shelf> = {}) {
  const things = new Map<string, number>();
  const state = { fails: undefined as Error | undefined, looks: 0 };
  const shelf: Shelf = {
    part: 'archives',
    atOnce: 2,
    look: (limit) => {
      state.looks += 1;
      const items = [...things]
        .map(([name, atMs]): RetainedItem => ({ name, atMs, bytes: 10 }))
        .toSorted((a, b) => a.atMs - b.atMs);
      const some = items.slice(0, limit);
      return Promise.resolve({
        bytes: 10 * items.length,
        items: some,
        hasMore: items.length > limit,
      });
    },
    inspect: ({ name }) =>
      Promise.resolve(name.startsWith('held') ? { bytes: 0, refused: 'WAITS' } : { bytes: 10 }),
    take: (items) => {
      if (state.fails !== undefined) return Promise.reject(state.fails);
      for (const { name } of items) things.delete(name);
      return Promise.resolve(items.map(({ name }) => ({ name })));
    },
    ...changes,
  };
  const put = (name: string, ageMs: number): void => void things.set(name, clock.now() - ageMs);
  return { shelf, things, put, state };
}

interface Bench {
  readonly clock: ReturnType<typeof fakeClock>;
  readonly retention: Retention;
  readonly things: Map<string, number>;
  readonly put: (name: string, ageMs: number) => void;
  readonly state: { fails: Error | undefined; looks: number };
  readonly acts: { count: number; bytes: number }[];
  rule: RetentionRule;
  isHeld: boolean;
}

function bench(rule: RetentionRule, changes: Partial<Shelf> = {}): Bench {
  const clock = fakeClock();
  const { shelf, ...rest } = shelfOf(clock, changes);
  const { notices } = openControlDatabase(':memory:', { clock });
  const acts: { count: number; bytes: number }[] = [];
  const given: Bench = { clock, acts, rule, isHeld: false, ...rest, retention: undefined as never };
  const retention = createRetention({
    shelves: [shelf],
    ruleOf: () => given.rule,
    notices,
    clock,
    held: () => (given.isHeld ? new Error('a backup is made') : undefined),
    onTaken: ({ count, bytes }) => void acts.push({ count, bytes }),
  });
  return Object.assign(given, { retention });
}

const namesOf = ({ things }: Bench): readonly string[] => [...things.keys()].toSorted();

describe('a rule of retention (ING-713, D22)', () => {
  it('takes nothing before it was told for a day, however old things are, and says what will go and when', async () => {
    const one = bench({ maxAgeMs: 30 * dayMs, maxBytes: null });
    one.put('old', 40 * dayMs);
    one.put('soon', 30 * dayMs - hourMs);
    one.put('young', dayMs);
    const began = one.clock.now();
    await one.retention.pass();
    await one.clock.advance(dayMs - 1);
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['old', 'soon', 'young']);
    expect(one.retention.reports()).toMatchObject([
      {
        fromMs: began + dayMs,
        bytes: 30,
        waiting: { count: 2, bytes: 20, firstMs: began + dayMs },
      },
    ]);
    await one.clock.advance(1);
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['young']);
    expect(one.acts).toEqual([{ count: 2, bytes: 20 }]);
    expect(one.retention.reports()).toMatchObject([
      { bytes: 10, waiting: { count: 0, firstMs: null }, taken: { count: 2, bytes: 20 } },
    ]);
  });

  it('that is changed has a notice of its own, and one that is taken back takes nothing', async () => {
    const one = bench({ maxAgeMs: 30 * dayMs, maxBytes: null });
    one.put('old', 40 * dayMs);
    await one.retention.pass();
    await one.clock.advance(2 * dayMs);
    one.rule = { maxAgeMs: 10 * dayMs, maxBytes: null };
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['old']);
    one.rule = { maxAgeMs: null, maxBytes: null };
    await one.clock.advance(2 * dayMs);
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['old']);
    expect(one.retention.reports()).toEqual([]);
  });

  it('of a size takes the oldest until what is left is below it, in as many looks as that needs', async () => {
    const one = bench({ maxAgeMs: null, maxBytes: 55 });
    for (let n = 0; n < 12; n += 1) one.put(`t${String(n).padStart(2, '0')}`, (20 - n) * hourMs);
    one.put('held', 50 * dayMs);
    await one.retention.pass();
    expect(one.things.size).toBe(13);
    await one.clock.advance(dayMs);
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['held', 't08', 't09', 't10', 't11']);
  });

  it('is kept by a timer, soon after the start and again, and not after the stop', async () => {
    const one = bench({ maxAgeMs: hourMs, maxBytes: null });
    one.put('old', 2 * hourMs);
    one.retention.start();
    await one.clock.advance(30_000);
    expect(one.state.looks).toBe(1);
    await one.clock.advance(2 * hourMs);
    expect(namesOf(one)).toEqual([]);
    await one.retention.stop();
    const { looks } = one.state;
    await one.clock.advance(dayMs);
    expect(one.state.looks).toBe(looks);
  });

  it('takes nothing while a backup is made, and goes on after it', async () => {
    const one = bench({ maxAgeMs: hourMs, maxBytes: null });
    one.put('old', 2 * hourMs);
    await one.retention.pass();
    await one.clock.advance(2 * hourMs);
    one.isHeld = true;
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['old']);
    expect(one.retention.reports()).toMatchObject([{ trouble: null, waiting: { count: 1 } }]);
    const order = { part: 'archives', limit: 9, isDryRun: false, rule: one.rule } as const;
    await expect(one.retention.run(order)).rejects.toThrow('a backup is made');
    one.isHeld = false;
    await one.retention.pass();
    expect(namesOf(one)).toEqual([]);
  });

  it('that cannot be kept says why, once, and is tried again', async () => {
    const told: string[] = [];
    const end = daemonNoticed.subscribe(({ code }) => void told.push(code));
    const one = bench({ maxAgeMs: hourMs, maxBytes: null });
    try {
      one.put('old', 2 * hourMs);
      await one.retention.pass();
      await one.clock.advance(2 * hourMs);
      one.state.fails = queueWriteFailed({ reason: 'the disk is away', keys: [] });
      await one.retention.pass();
      await one.retention.pass();
      expect(told).toEqual(['QUEUE_WRITE_FAILED']);
      expect(one.retention.reports()).toMatchObject([
        { trouble: { message: expect.stringContaining('the disk is away') } },
      ]);
      one.state.fails = undefined;
      await one.retention.pass();
      expect(namesOf(one)).toEqual([]);
      expect(one.retention.reports()).toMatchObject([{ trouble: null, taken: { count: 1 } }]);
    } finally {
      end();
    }
  });

  it('whose things are old by foreign clocks tells each of them for a day before it goes', async () => {
    const told = new Map<string, number>();
    const clockOf = { now: () => 0 };
    const one = bench(
      { maxAgeMs: 30 * dayMs, maxBytes: null },
      {
        toldAtMs(items) {
          for (const { name } of items) if (!told.has(name)) told.set(name, clockOf.now());
          return told;
        },
      },
    );
    clockOf.now = () => one.clock.now();
    await one.retention.pass();
    await one.clock.advance(3 * dayMs);
    one.put('imported', 400 * dayMs);
    await one.retention.pass();
    expect(namesOf(one)).toEqual(['imported']);
    expect(told.has('imported')).toBe(true);
    expect(one.retention.reports()).toMatchObject([
      { waiting: { count: 1, firstMs: one.clock.now() + dayMs } },
    ]);
    await one.clock.advance(dayMs);
    await one.retention.pass();
    expect(namesOf(one)).toEqual([]);
  });
});

describe('a run by hand', () => {
  it('shows what would go on a dry run, and takes that without a notice', async () => {
    const taken: object[] = [];
    const end = retentionTaken.subscribe((message) => void taken.push(message));
    try {
      const one = bench({ maxAgeMs: null, maxBytes: null });
      for (const name of ['a', 'b', 'c', 'held']) one.put(name, 2 * hourMs);
      const order = { part: 'archives', limit: 2, isDryRun: true } as const;
      const rule = { maxAgeMs: hourMs, maxBytes: null };
      const shown = await one.retention.run({ ...order, rule });
      expect(shown).toMatchObject({ bytes: 40, hasMore: true });
      expect(shown?.taken.map(({ item }) => item.name)).toEqual(['a', 'b']);
      expect(one.things.size).toBe(4);
      await one.retention.run({ ...order, rule, isDryRun: false });
      expect(namesOf(one)).toEqual(['c', 'held']);
      expect(taken).toEqual([{ part: 'archives', count: 2, bytes: 20 }]);
      const rest = await one.retention.run({ ...order, rule, limit: 9, isDryRun: false });
      expect(rest?.kept).toEqual([{ name: 'held', refused: 'WAITS' }]);
      expect(await one.retention.run({ ...order, rule, part: 'graph' })).toBeUndefined();
    } finally {
      end();
    }
  });
});
