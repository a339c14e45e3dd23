import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import type { Disk } from '#disk';
import type { ClearHelp } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { emptyCursor, type Cursor } from '#record';
import { memoryState } from '#state';
import { over } from '../../src/lab/over.ts';
import {
  append,
  cursorAt,
  item,
  kill,
  numbered,
  pendingNumbers,
  readAll,
} from '../contract/queue/steps.ts';
import {
  edit,
  readText,
  segmentPaths,
  withPlace,
  type Place,
} from '../queue-backends/filesystem/place.ts';
import {
  apply,
  cursorOf,
  folder,
  help,
  key,
  offsetPath,
  seen,
} from '../queue-backends/filesystem/stopped-key.ts';

/** Guards of how epochs and generations end: each is green on the real thing and red on a variant with one defect (ING-T00). */
interface Variant {
  /** Around the queue that applies and commits. */
  readonly queue?: (inner: FilesystemQueue) => FilesystemQueue;
  /** Around the disk under it. */
  readonly disk?: (inner: Disk) => Disk;
  /** What the variant leaves in the files when the next epoch has begun. */
  readonly leaves?: (place: Place) => Promise<void>;
  readonly help?: ClearHelp;
}

interface EndingGuard {
  readonly guard: string;
  readonly mutants: readonly { readonly defect: string; readonly broken: Variant }[];
  check(place: Place, variant: Variant): Promise<void>;
}

const deadPath = `${folder}/dead.jsonl`;

async function open(place: Place, { queue, disk }: Variant): Promise<FilesystemQueue> {
  const opened = await place.open(disk === undefined ? {} : { disk: disk(place.disk) });
  return queue === undefined ? opened : queue(opened);
}

/** Commits all that waits with the end of the session. */
async function end(queue: FilesystemQueue, count: number): Promise<void> {
  const last = item((await readAll(queue)).items, -1);
  const cursor = { ...cursorAt(count), terminal_seen: true };
  await queue.commit(key, last.after, cursor, null);
}

/** A session id comes back, and its first record equals one that died in the epoch before. */
const usedAgain: EndingGuard = {
  guard: 'G7',
  mutants: [
    {
      defect: 'letters of an epoch that has ended stay live and count for every epoch (ING-T07)',
      broken: {
        async leaves(place) {
          const { epoch } = JSON.parse(await readText(place.disk, offsetPath)) as { epoch: string };
          const names = (await place.disk.readDirectory(folder)).map(({ name }) => name);
          const retired = names.find((name) => /^dead\..+\.jsonl$/.test(name)) ?? '';
          const text = await readText(place.disk, `${folder}/${retired}`);
          const old = (JSON.parse(text.split('\n')[0] ?? '') as { epoch: string }).epoch;
          await edit(place.disk, deadPath, () => Buffer.from(text.replaceAll(old, epoch)));
        },
      },
    },
  ],
  async check(place, { leaves }) {
    const first = await place.open();
    await append(first, ...numbered('s', 0, 1));
    await kill(first);
    await append(first, ...numbered('s', 1, 1));
    await end(first, 1);
    await first.lifeCycle.finalize(key);
    await append(first, ...numbered('s', 0, 1));
    await first.close();
    await leaves?.(place);
    deepStrictEqual(await pendingNumbers(await place.open()), [0]);
  },
};

const forgetsTheEnd = (inner: FilesystemQueue): FilesystemQueue =>
  over(inner, {
    commit: (of, after, cursor, applied) =>
      inner.commit(of, after, { ...cursor, terminal_seen: false }, applied),
  });

/** Killed between the commit that passes the end of a session and its finalise. */
const endSeen: EndingGuard = {
  guard: 'G26',
  mutants: [
    {
      defect: 'that the end was seen is kept in memory alone (ING-T26)',
      broken: { queue: forgetsTheEnd },
    },
  ],
  async check(place, variant) {
    const first = await open(place, variant);
    await append(first, ...numbered('s', 0, 1));
    await end(first, 1);
    await place.kill();
    const again = await place.open();
    deepStrictEqual(await again.activeKeys(), [key]);
    strictEqual(await again.lifeCycle.finalize(key), 'done');
  },
};

class Killed extends Error {}

/** The process ends at the second of the last two files that a finalise takes away. */
function diesBetween(inner: Disk, isSwapped: boolean): Disk {
  const order = isSwapped ? [offsetPath, `${folder}/log.000000.jsonl`] : [];
  let isDead = false;
  let unlinked = 0;
  return over(inner, {
    async unlink(path) {
      if (isDead) throw new Killed();
      const isOne = path === offsetPath || /log\.\d+\.jsonl$/.test(path);
      if (isOne && unlinked === 1) {
        isDead = true;
        throw new Killed();
      }
      if (isOne) unlinked += 1;
      await inner.unlink(isOne ? (order[0] ?? path) : path);
    },
  });
}

/** Killed between the last two steps of a finalise; journal and row are lost too, since session files must be consistent without them (QFS-13). */
const lastSteps: EndingGuard = {
  guard: 'G28',
  mutants: [
    {
      defect: 'the offset record goes before the log (ING-T28)',
      broken: { disk: (inner) => diesBetween(inner, true) },
    },
  ],
  async check(place, { disk = (inner: Disk) => diesBetween(inner, false) }) {
    const before = await place.open();
    await append(before, ...numbered('s', 0, 2));
    await end(before, 2);
    await before.close();
    const first = await place.open({ disk: disk(place.disk) });
    await first.lifeCycle.finalize(key).then(
      (outcome) => ok(false, `the finalise ended with ${outcome}`),
      (error: unknown) => ok(error instanceof Killed, String(error)),
    );
    await place.kill();
    for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
    place.state = memoryState();
    const again = await place.open();
    deepStrictEqual(await pendingNumbers(again), []);
    strictEqual(again.totals().accepted, again.totals().applied);
  },
};

function foldsFrom(start: Cursor): ClearHelp {
  let isFirst = true;
  return {
    ...help,
    fold(of, cursor, raw) {
      const from = isFirst ? start : cursor;
      isFirst = false;
      return help.fold(of, from, raw);
    },
  };
}

/** The offset record is damaged after a compaction: what is skipped leaves the cursor that belongs to the place. */
const afterCompaction: EndingGuard = {
  guard: 'G29',
  mutants: [
    {
      defect: 'the cursor behind a compaction is folded from an empty one (ING-T29)',
      broken: { help: foldsFrom(emptyCursor()) },
    },
    {
      defect: 'the cursor behind a compaction is folded from the committed one (ING-T29)',
      broken: { help: foldsFrom(cursorOf(0, 1, 2, 3)) },
    },
  ],
  async check(place, variant) {
    const first = await place.open();
    await append(first, ...numbered('s', 0, 5));
    await apply(first, 2);
    await first.lifeCycle.compactCommittedPrefix(key, 1);
    await apply(first, 2);
    await first.close();
    await edit(place.disk, offsetPath, () => Buffer.alloc(0));
    const queue = await place.open();
    const order = { mode: 'skip-to-end', by: 'operator', operationId: 'op' } as const;
    await queue.clearQuarantine(key, order, variant.help ?? help);
    deepStrictEqual(await seen(queue), ['r0', 'r1', 'r2', 'r3']);
  },
};

/** A log is drained again from its beginning: with the cursor that it began with, which an epoch has from the one before. */
const resetCursor: EndingGuard = {
  guard: 'G15',
  mutants: [
    {
      defect: 'a reset writes an empty cursor (ING-T15)',
      broken: {
        queue: (inner) => over(inner, { readCursor: async () => emptyCursor() }),
      },
    },
  ],
  async check(place, variant) {
    const first = await place.open();
    await append(first, ...numbered('s', 0, 2));
    await apply(first, 2);
    await first.lifeCycle.finalize(key);
    await append(first, ...numbered('s', 2, 2));
    await apply(first, 2);
    await first.close();
    const queue = await open(place, variant);
    await queue.resetOffset(key, { by: 'operator', operationId: 'op' });
    await apply(queue, 2);
    deepStrictEqual(await seen(await reopened(place, queue)), ['r0', 'r1', 'r2', 'r3']);
  },
};

async function reopened(place: Place, queue: FilesystemQueue): Promise<FilesystemQueue> {
  await queue.close();
  return place.open();
}

describe.each([usedAgain, endSeen, lastSteps, afterCompaction, resetCursor])(
  'the guard $guard',
  ({ guard, mutants, check }) => {
    it(`is green on the real code (${guard})`, () => withPlace((place) => check(place, {})));

    it.each(mutants)('turns red where $defect (ING-T00)', async ({ broken }) => {
      await expect(withPlace((place) => check(place, broken))).rejects.toThrow();
    });
  },
);
