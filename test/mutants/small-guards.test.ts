import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { failingDisk, isStaleStaging, parseStagingName, stagingNames } from '#disk';
import { fold, type Folded } from '#handlers';
import { emptyCursor, type Cursor, type LogRecord } from '#record';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import {
  readStored,
  recordOfOwn,
  storedBytes,
  writeStored,
} from '../../queue-backends/filesystem/session/stored-line.ts';
import { labDisk, openLabQueue } from '../../src/lab/lab-queue.ts';
import { over } from '../../src/lab/over.ts';
import { labKey, labRecord } from '../../src/lab/records.ts';
import { seededChance } from '../support/chance.ts';
import { recordOf, spillBytes } from '../support/graph-fixtures.ts';

/** Guards that need no more than a screen: each is green on the real thing and red on a variant with one defect (ING-T00). */
interface SmallGuard<T> {
  readonly guard: string;
  readonly real: T;
  readonly mutants: readonly { readonly defect: string; readonly broken: T }[];
  check(subject: T): Promise<void> | void;
}

type Fold = (cursor: Cursor, record: LogRecord) => Folded;
const realFold: Fold = (cursor, record) => fold(cursor, record, { spillBytes });

function event(name: string, data: Readonly<Record<string, string>>): LogRecord {
  const timestamp = '2026-01-01T00:00:00Z';
  const body = { event: name, workspace: 'w', data: { session_id: 's', timestamp, ...data } };
  return recordOf(body);
}

const start = event('session:start', {});
const run = (prompt: string): LogRecord => event('execution:start', { prompt });

/** A first attempt that is thrown away must leave the second one what it would have been. */
const twoAttempts = (foldOne: Fold): void => {
  const before = foldOne(emptyCursor(), start).cursor;
  const kept = structuredClone(before);
  const first = foldOne(before, run('one'));
  deepStrictEqual(before, kept);
  deepStrictEqual(foldOne(before, run('one')), first);
};

const nestedMaps: SmallGuard<Fold> = {
  guard: 'G8',
  real: realFold,
  mutants: [
    {
      defect: 'a fold changes a nested map of the cursor in place',
      broken(cursor, record) {
        const folded = realFold(cursor, record);
        Object.assign(cursor.layer2.run_seq_by_ts, folded.cursor.layer2.run_seq_by_ts);
        return folded;
      },
    },
  ],
  check: twoAttempts,
};

function forgetful(): Fold {
  const issued = new Set<string>();
  return (cursor, record) => {
    const folded = realFold(cursor, record);
    const mutations = folded.mutations.filter((mutation) => {
      if (mutation.kind !== 'node' || mutation.id !== 's') return true;
      return !issued.has(mutation.id) && issued.add(mutation.id).size > 0;
    });
    return { ...folded, mutations };
  };
}

const sessionAgain: SmallGuard<Fold> = {
  guard: 'G9',
  real: realFold,
  mutants: [{ defect: 'what was issued is remembered outside the cursor', broken: forgetful() }],
  check(foldOne) {
    const failed = foldOne(emptyCursor(), start);
    deepStrictEqual(foldOne(emptyCursor(), start), failed);
  },
};

const runIds: SmallGuard<Fold> = {
  guard: 'G12',
  real: realFold,
  mutants: [
    {
      defect: 'run ids have no sequence',
      broken(cursor, record) {
        const text = JSON.stringify(realFold(cursor, record));
        return JSON.parse(
          text.replace(/(::orch_run::[^"]*?)(?:::\d+|_\d+|#\d+|-\d+)"/g, '$1"'),
        ) as Folded;
      },
    },
  ],
  check(foldOne) {
    const first = foldOne(foldOne(emptyCursor(), start).cursor, run('one'));
    const second = foldOne(first.cursor, run('two'));
    notStrictEqual(first.cursor.layer2.active_run_id, second.cursor.layer2.active_run_id);
  },
};

const ownStaging: SmallGuard<typeof isStaleStaging> = {
  guard: 'G4',
  real: isStaleStaging,
  mutants: [{ defect: 'staging files are reclaimed by their suffix', broken: () => true }],
  check(isStale) {
    const { writer, nextFor } = stagingNames(7, seededChance(1));
    const ours = parseStagingName(nextFor('/root/offset'));
    const theirs = parseStagingName(stagingNames(7, seededChance(2)).nextFor('/root/offset'));
    if (ours === undefined || theirs === undefined) throw new Error('names can be parsed');
    strictEqual(isStale(theirs, writer), true);
    strictEqual(isStale(ours, writer), false);
  },
};

type Spoil = (queue: FilesystemQueue) => FilesystemQueue;
const asItIs: Spoil = (queue) => queue;

const passingTrouble: SmallGuard<Spoil> = {
  guard: 'G11',
  real: asItIs,
  mutants: [
    {
      defect: 'one catch-all takes a passing EIO for damage',
      broken: (queue) =>
        over(queue, {
          async readBatch(key, max) {
            try {
              return await queue.readBatch(key, max);
            } catch (error) {
              await queue.quarantine(key, { code: 'LOG_CORRUPT', message: String(error) });
              throw error;
            }
          },
        }),
    },
  ],
  async check(spoil) {
    const disk = failingDisk(labDisk());
    const first = await openLabQueue({ disk });
    await first.append([labRecord({ data: { n: 1 } })]);
    await first.close();
    const queue = spoil(await openLabQueue({ disk, generation: 2 }));
    disk.plan([{ code: 'EIO', path: /sessions/, times: Number.POSITIVE_INFINITY }]);
    const max = { records: 1, bytes: 1 };
    await expect(queue.readBatch(labKey(), max)).rejects.toMatchObject({ disposition: 'retry' });
    disk.heal();
    strictEqual((await queue.readBatch(labKey(), max)).items.length, 1);
    await queue.close();
  },
};

const equalPoison: SmallGuard<Spoil> = {
  guard: 'G27',
  real: asItIs,
  mutants: [
    {
      defect: 'dead lines are matched by their bytes',
      broken: (queue) =>
        over(queue, {
          async deadLetter(key, letters, after, cursor) {
            const known = await queue.readDeadLetters(key);
            const fresh = letters.filter(
              (letter) =>
                !('raw' in letter) ||
                known.every(({ payload }) => Buffer.compare(payload, letter.raw) !== 0),
            );
            if (fresh.length > 0) await queue.deadLetter(key, fresh, after, cursor);
            else await queue.commit(key, after, cursor, null);
          },
        }),
    },
  ],
  async check(spoil) {
    const queue = spoil(await openLabQueue());
    await queue.append([labRecord({ data: { n: 1 } }), labRecord({ data: { n: 1 } })]);
    const { items } = await queue.readBatch(labKey(), { records: 2, bytes: 2 ** 20 });
    const error = { code: 'EVENT_CONTRADICTS', message: 'it contradicts itself' };
    for (const { at, raw, after } of items)
      await queue.deadLetter(labKey(), [{ at, raw, attempts: 3, error }], after, emptyCursor());
    const { dead, applied } = queue.totals();
    await queue.close();
    deepStrictEqual({ dead, applied }, { dead: 2, applied: 0 });
  },
};

type ReadLine = (line: Uint8Array) => Uint8Array | undefined;

/** A line of a log of which one bit was changed is no record, wherever it was changed. */
const damagedLine: SmallGuard<ReadLine> = {
  guard: 'G46',
  real: readStored,
  mutants: [
    {
      defect: 'a line is taken without a look at its checksum',
      broken: (line) => recordOfOwn(line),
    },
  ],
  check(read) {
    const raw = Buffer.from('{"v":1,"data":{"n":12345}}');
    const line = Buffer.alloc(storedBytes(raw));
    writeStored(line, 0, raw);
    deepStrictEqual(Buffer.from(read(line) ?? []), raw);
    for (let at = 0; at < line.length; at += 1) {
      const changed = Buffer.from(line);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      strictEqual(read(changed), undefined, `a bit of byte ${at} was changed`);
    }
  },
};

describe.each([
  nestedMaps,
  sessionAgain,
  runIds,
  ownStaging,
  passingTrouble,
  equalPoison,
  damagedLine,
] as readonly SmallGuard<unknown>[])('the guard $guard', ({ guard, real, mutants, check }) => {
  it(`is green on the real code (${guard})`, async () => {
    await check(real);
  });

  it.each(mutants)('turns red where $defect (ING-T00)', async ({ broken }) => {
    await expect((async () => check(broken))()).rejects.toThrow();
  });
});
