import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import { compactionRefused } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Key, Position } from '#record';
import type { StateStore } from '#state';
import { cursorAt, numbered, numbersIn } from '../../contract/queue/steps.ts';
import { locksWithout } from '../../mutants/locks-without.ts';
import { seededChance } from '../../support/chance.ts';
import type { TestQueueOptions } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { turn } from '../../support/turn.ts';
import { Place } from './place.ts';

const rounds = 300;
const everything = { records: 10_000, bytes: 2 ** 24 };
const sessions = ['s', 't'] as const;

/** What one session should hold: numbers that wait, and how many were applied, over all its epochs. */
class Expected {
  readonly waiting: number[] = [];
  applied = 0;
  next = 0;
}

/**
 * Appends of one and of several sessions, commits, fills, compactions and finalises side by side, released in random order; after each round
 * the queue is asked for what it should hold. The first thing found wrong, or undefined.
 */
class Race {
  readonly place = new Place();
  readonly #options: TestQueueOptions;
  readonly #expected = new Map<string, Expected>(sessions.map((name) => [name, new Expected()]));
  readonly #chance = seededChance(5);
  #queue: FilesystemQueue | undefined;

  constructor(options: TestQueueOptions) {
    this.#options = options;
  }

  async run(): Promise<string | undefined> {
    try {
      for (let round = 0; round < rounds; round += 1) {
        if (round % 60 === 0) await this.#reopen();
        await this.#round();
        const fault = await this.#fault();
        if (fault !== undefined) return `round ${round}: ${fault}`;
      }
      return undefined;
    } catch (error) {
      return String(error);
    } finally {
      await this.place.dispose();
    }
  }

  get #open(): FilesystemQueue {
    if (this.#queue === undefined) throw new Error('the race has begun');
    return this.#queue;
  }

  async #reopen(): Promise<void> {
    await this.#queue?.close();
    this.#queue = await this.place.open(this.#options);
  }

  async #round(): Promise<void> {
    const acts = [
      () => this.#append(...sessions),
      () => this.#append('s'),
      () => this.#commit('s'),
      () => this.#commit('t'),
      () => this.#compact('s'),
      () => this.#compact('t'),
      () => this.#open.lifeCycle.finalize(testKey('s')),
      () => this.#open.lifeCycle.finalize(testKey('t')),
      () => this.place.clock.advance(250),
    ];
    await Promise.all(
      acts.map(async (act) => {
        for (let turns = Math.floor(this.#chance.float() * 4); turns > 0; turns -= 1) await turn();
        await act();
      }),
    );
  }

  async #append(...names: readonly string[]): Promise<void> {
    const inputs = names.flatMap((name) => {
      const expected = this.#of(name);
      expected.next += 1;
      expected.waiting.push(expected.next - 1);
      return numbered(name, expected.next - 1, 1);
    });
    await this.#open.append(inputs);
  }

  /** Of what waits now, all: with the end of the session, so that a finalise may follow. */
  async #commit(name: string): Promise<void> {
    const key = testKey(name);
    const { items } = await this.#open.readBatch(key, everything);
    const last = items.at(-1);
    if (last === undefined) return;
    const expected = this.#of(name);
    const cursor = { ...cursorAt(expected.applied + items.length), terminal_seen: true };
    await this.#open.commit(key, last.after, cursor, null);
    expected.applied += items.length;
    expected.waiting.splice(0, items.length);
  }

  async #compact(name: string): Promise<void> {
    try {
      await this.#open.lifeCycle.compactCommittedPrefix(testKey(name), 1);
    } catch (error) {
      if (!compactionRefused.is(error)) throw error;
    }
  }

  async #fault(): Promise<string | undefined> {
    for (const name of sessions) {
      const expected = this.#of(name);
      const key = testKey(name);
      const numbers = numbersIn(await this.#open.readBatch(key, everything));
      if (numbers.join() !== expected.waiting.join())
        return `${name} should hold ${expected.waiting.join()}, and holds ${numbers.join()}`;
      const cursor = await this.#open.readCursor(key);
      if ((cursor?.layer1.event_seq ?? 0) !== expected.applied)
        return `${name} has the cursor of ${cursor?.layer1.event_seq}, ${expected.applied} were applied`;
    }
    const { accepted, applied, pending, quarantinedKeys } = this.#open.totals();
    if (accepted !== applied + pending || quarantinedKeys > 0) return 'the books do not balance';
    return undefined;
  }

  #of(name: string): Expected {
    const expected = this.#expected.get(name);
    if (expected === undefined) throw new Error(`there is no session ${name}`);
    return expected;
  }
}

/** Defect (ING-T39): an epoch begins with an empty cursor. */
function withoutCursors(inner: StateStore): StateStore {
  return {
    getDedup: (key, id) => inner.getDedup(key, id),
    getProgress: (key) => inner.getProgress(key),
    getEpoch: (key, ordinal) => inner.getEpoch(key, ordinal),
    checkpointedThrough: () => inner.checkpointedThrough(),
    rowKeys: (page) => inner.rowKeys(page),
    forgetIds: (permit, key, before) => inner.forgetIds(permit, key, before),
    write: (permit, writes) => inner.write(permit, writes),
    flush: () => inner.flush(),
    close: () => inner.close(),
    getRow(key) {
      const row = inner.getRow(key);
      return row === undefined ? undefined : { ...row, cursor: cursorAt(0) };
    },
  };
}

describe('appends and commits beside compaction and finalise', () => {
  it('lose nothing, keep their order and never wait for ever (ING-T02, ING-T23, ING-T38, P1, P2, P3)', async () => {
    expect(await new Race({}).run()).toBeUndefined();
  });

  it.each(['compact', 'finalise'])('would not without the lock that a %s holds', async (label) => {
    expect(await new Race({ aroundLocks: locksWithout(label) }).run()).toBeDefined();
  });

  it('would begin counting anew if an epoch did not take the cursor of the row (ING-T39)', async () => {
    const race = new Race({});
    const broken = new Race({ state: withoutCursors(race.place.state) });
    expect(await broken.run()).toMatch('cursor');
    await race.place.dispose();
  });
});

/** A compaction beside one commit, at every place where the one can wait for the other. */
it('lands a commit on the same record wherever a compaction overtakes it (ING-211, ING-P08)', async () => {
  for (let turns = 0; turns < 30; turns += 1) {
    const place = new Place();
    const queue = await place.open();
    const key: Key = testKey();
    await queue.append(numbered('s', 0, 6));
    const { items } = await queue.readBatch(key, everything);
    const at = (index: number): Position => items[index]?.after ?? ('' as Position);
    await queue.commit(key, at(1), cursorAt(2), null);
    const compaction = queue.lifeCycle.compactCommittedPrefix(key, 1);
    for (let left = turns; left > 0; left -= 1) await turn();
    await queue.commit(key, at(3), cursorAt(4), null);
    await compaction.catch((error: unknown) => {
      if (!isMillraceError(error)) throw error;
    });
    expect(numbersIn(await queue.readBatch(key, everything))).toEqual([4, 5]);
    await queue.close();
    const again = await place.open();
    expect((await again.keyStatus(key))?.committed).toBe(at(3));
    expect(numbersIn(await again.readBatch(key, everything))).toEqual([4, 5]);
    await place.dispose();
  }
});
