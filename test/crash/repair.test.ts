import { describe, expect, it } from 'vitest';
import {
  everyCrash,
  namedPowerLosses,
  recordingDisk,
  type Crash,
  type Disk,
  type RecordingDisk,
} from '#disk';
import type { ClearMode } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { type MemoryState, memoryState } from '#state';
import { append, assertBooks, kill, numbered } from '../contract/queue/steps.ts';
import { edit, flipAt, Place, readText } from '../queue-backends/filesystem/place.ts';
import {
  apply,
  cursorOf,
  folder,
  help,
  key,
  logPath,
  offsetPath,
} from '../queue-backends/filesystem/stopped-key.ts';
import { named, recordedState, stateAfter } from '../../src/lab/recorded-life.ts';
import { seededChance } from '../support/chance.ts';
import { fakeClock } from '../support/clock.ts';
import { openQueue, queueDirectory } from '../support/filesystem-queue.ts';

/** Nothing that was not synced, any part of it, and all of it. */
const losses = namedPowerLosses(1, seededChance).filter(({ name }) =>
  /bytes (kept|lost), entries (kept|lost)|torn/.test(name),
);
const timeout = 240_000;

/** Where a sweep begins: a root that was closed, then damaged. */
interface Start {
  readonly disk: Disk;
  readonly state: MemoryState;
}

/** Seven records: 0 and 1 applied, 2 dead, 3 to 6 waiting; then damage. */
async function damaged(damage: (place: Place) => Promise<void>): Promise<Start> {
  const place = new Place();
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 7));
  await apply(queue, 2);
  await kill(queue).catch(() => undefined);
  await queue.close();
  const again = await place.open();
  await again.close();
  await damage(place);
  return { disk: place.disk, state: place.state };
}

function open(disk: Disk, state: Start['state'], generation: number): Promise<FilesystemQueue> {
  return openQueue({ disk, state, generation, clock: fakeClock() });
}

/** Drains until the end or the damage; true when the key is well. */
async function drainOn(queue: FilesystemQueue): Promise<boolean> {
  for (;;) {
    const status = await queue.keyStatus(key);
    if (status === undefined || status.quarantine !== null) return false;
    const batch = await queue.readBatch(key, { records: 10, bytes: 1e6 }).catch(() => undefined);
    if (batch === undefined) continue;
    if (batch.items.length === 0) return true;
    await apply(queue, batch.items.length);
  }
}

function clear(queue: FilesystemQueue, mode: ClearMode): Promise<unknown> {
  return queue.clearQuarantine(key, { mode, by: 'operator', operationId: 'the one' }, help);
}

interface Expected {
  readonly applied: number;
  readonly dead: number;
}

/** What any crash has left comes to the same end: whoever asked for the way out asks again, and nothing is lost or counted twice. */
async function checkEnd(
  disk: Disk,
  state: Start['state'],
  generation: number,
  mode: ClearMode | 'replay' | 'reconcile',
  expected: Expected,
): Promise<void> {
  const queue = await open(disk, state, generation);
  try {
    await assertBooks(queue, { accepted: 7 });
    if (!(await drainOn(queue))) {
      if (mode === 'replay' || mode === 'reconcile') throw new Error('the key is well');
      await clear(queue, mode);
      expect(await drainOn(queue), 'the way out was taken').toBe(true);
    }
    await assertBooks(queue, { accepted: 7, pending: 0, ...expected });
    const letters = await queue.readDeadLetters(key);
    expect(new Set(letters.map(({ id }) => id)).size).toBe(letters.length);
    const count = letters.reduce((sum, { records = 1 }) => sum + records, 0);
    expect(count, 'letters hold what the books call dead').toBe(expected.dead);
  } finally {
    await queue.close();
  }
}

/** Records the step on its disk, and then looks at what is left after each of its writes. */
async function sweep(
  start: Start,
  act: (queue: FilesystemQueue) => Promise<void>,
  check: (disk: Disk, state: MemoryState, generation: number) => Promise<void>,
): Promise<number> {
  const disk: RecordingDisk = recordingDisk(start.disk);
  const queue = await openQueue({
    disk,
    state: recordedState(disk, memoryState({ from: start.state.flushed() })),
    generation: 10,
    clock: fakeClock(),
  });
  await act(queue);
  await queue.close();
  let count = 0;
  for (const crash of everyCrash(disk.log, losses)) {
    count += 1;
    await named(crash, disk.log, () => check(crash.disk, stateOf(crash, start), 11));
  }
  return count;
}

/** Before the first word of the state store it is what it was. */
function stateOf(crash: Crash, start: Start): MemoryState {
  const hasSpoken = crash.marks.some(({ label }) => label === 'state');
  return hasSpoken ? stateAfter(crash) : memoryState({ from: start.state.flushed() });
}

const inRecord = (place: Place): Promise<void> =>
  edit(place.disk, offsetPath, () => Buffer.alloc(0));
const inLog = (place: Place): Promise<void> =>
  edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":4'));
const restored = async (place: Place): Promise<void> => {
  const sound = await readText(place.disk, offsetPath);
  await edit(place.disk, `${offsetPath}.restored`, () => Buffer.from(sound));
  await place.disk.syncDirectory(folder);
  await inRecord(place);
};

const ways: readonly {
  readonly mode: ClearMode;
  readonly damage: (place: Place) => Promise<void>;
  readonly expected: Expected;
}[] = [
  { mode: 'restart-log', damage: inRecord, expected: { applied: 6, dead: 1 } },
  { mode: 'skip-to-end', damage: inRecord, expected: { applied: 2, dead: 5 } },
  { mode: 'pass-over', damage: inLog, expected: { applied: 5, dead: 2 } },
];

describe('a power loss while a key is stopped and cleared', () => {
  for (const { mode, damage, expected } of ways)
    it(
      `leaves it stopped or cleared, at every step of quarantine and ${mode} (C24, C25, P4, P7)`,
      { timeout },
      async () => {
        const start = await damaged(damage);
        const count = await sweep(
          start,
          async (queue) => {
            await drainOn(queue);
            await clear(queue, mode);
            await drainOn(queue);
          },
          (disk, state, generation) => checkEnd(disk, state, generation, mode, expected),
        );
        expect(count).toBeGreaterThan(50);
      },
    );

  it('leaves an offset taken from a kept file, or the key stopped (C25)', { timeout }, async () => {
    const start = await damaged(restored);
    const order = {
      mode: 'offset-from-preserved',
      file: 'offset.json.restored',
      by: 'operator',
      operationId: 'the one',
    } as const;
    const count = await sweep(
      start,
      async (queue) => {
        await drainOn(queue);
        await queue.clearQuarantine(key, order, help);
      },
      async (disk, state, generation) => {
        const queue = await open(disk, state, generation);
        try {
          if (!(await drainOn(queue))) await queue.clearQuarantine(key, order, help);
          expect(await drainOn(queue)).toBe(true);
          await assertBooks(queue, { accepted: 7, applied: 6, dead: 1, pending: 0 });
        } finally {
          await queue.close();
        }
      },
    );
    expect(count).toBeGreaterThan(50);
  });
});

describe('a power loss while a position is set back', () => {
  it(
    'leaves the position before or after a replay, and the same end (W8, ING-219)',
    { timeout },
    async () => {
      const start = await damaged(async () => undefined);
      const count = await sweep(
        start,
        async (queue) => {
          await queue.resetOffset(key, { by: 'operator', operationId: 'replay' });
          await drainOn(queue);
        },
        (disk, state, generation) =>
          checkEnd(disk, state, generation, 'replay', { applied: 6, dead: 1 }),
      );
      expect(count).toBeGreaterThan(50);
    },
  );
});

describe('a power loss while dead records are passed', () => {
  it(
    'leaves them passed or dead ahead, and no second letter (C13, ING-704)',
    { timeout },
    async () => {
      const before = await (async () => {
        const place = new Place();
        const queue = await place.open();
        await append(queue, ...numbered('s', 0, 7));
        await apply(queue, 2);
        await queue.close();
        const old = await readText(place.disk, offsetPath);
        const second = await place.open();
        const batch = await second.readBatch(key, { records: 1, bytes: 1e6 });
        const [one] = batch.items;
        if (one === undefined) throw new Error('a record waits');
        const error = { code: 'EVENT_CONTRADICTS', message: 'no' };
        const letter = { at: one.at, raw: one.raw, attempts: 3, error };
        await second.deadLetter(key, [letter], one.after, cursorOf(0, 1));
        await second.close();
        await edit(place.disk, offsetPath, () => Buffer.from(old));
        for (const { name } of await place.disk.readDirectory(`${queueDirectory}/journal`))
          await place.disk.unlink(`${queueDirectory}/journal/${name}`);
        await place.disk.syncDirectory(`${queueDirectory}/journal`);
        return { disk: place.disk, state: memoryState() };
      })();
      const count = await sweep(
        before,
        async (queue) => {
          await queue.reconcileDead(key);
          await drainOn(queue);
        },
        (disk, state, generation) =>
          checkEnd(disk, state, generation, 'reconcile', { applied: 6, dead: 1 }),
      );
      expect(count).toBeGreaterThan(50);
    },
  );
});
