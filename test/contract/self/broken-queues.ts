import { isMillraceError } from '#base';
import { sessionQuarantined, type AppendInput, type AppendOutcome, type Batch } from '#queue';
import { contentDigest, emptyCursor, type Cursor, type Key, type Position } from '#record';
import type { Queue } from '../../support/queue-fixtures.ts';
import { bindQueue } from './bind-queue.ts';

/** A queue with one defect, and a check that must find it. */
export interface BrokenQueue {
  readonly defect: string;
  /** The beginning of the check's name. */
  readonly foundBy: string;
  /** Called for each opening, with what the earlier ones left here. */
  spoil(queue: Queue, memory: Map<string, unknown>): Partial<Queue>;
}

export function spoiled(queue: Queue, broken: BrokenQueue, memory: Map<string, unknown>): Queue {
  const sound = bindQueue(queue);
  return { ...sound, ...broken.spoil(sound, memory) };
}

function withoutLast(batch: Batch): Batch {
  return { ...batch, items: batch.items.slice(0, -1) };
}

function openings(memory: Map<string, unknown>): number {
  const count = ((memory.get('openings') as number | undefined) ?? 0) + 1;
  memory.set('openings', count);
  return count;
}

function changeOutcomes(
  queue: Queue,
  change: (outcome: AppendOutcome, record: AppendInput | undefined) => AppendOutcome,
): Queue['append'] {
  return async (records, options) => {
    const outcomes = await queue.append(records, options);
    return outcomes.map((outcome, at) => change(outcome, records[at]));
  };
}

function without(record: AppendInput, member: 'eventId' | 'settles'): AppendInput {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => name !== member),
  ) as unknown as AppendInput;
}

const nowhere = '00000000.00000000000000.e' as Position;

const losesOnRestart: Pick<BrokenQueue, 'defect' | 'spoil'> = {
  defect: 'a record is lost at a restart (P1, P4)',
  spoil(queue, memory) {
    if (openings(memory) === 1) return {};
    return { readBatch: async (key, max) => withoutLast(await queue.readBatch(key, max)) };
  },
};

export const brokenQueues: readonly BrokenQueue[] = [
  { ...losesOnRestart, foundBy: 'finds everything after each of several reopenings' },
  { ...losesOnRestart, foundBy: 'keeps every acknowledged record through crash after crash' },
  {
    defect: 'an append is acknowledged before it is durable (P1)',
    foundBy: 'acknowledges after the sync and never before',
    spoil: (queue) => ({
      async append(records) {
        void queue.append(records);
        return records.map(() => ({ status: 'queued', epoch: 'e', position: nowhere }));
      },
    }),
  },
  {
    defect: 'a reader sees a record before it is durable (P1)',
    foundBy: 'acknowledges after the sync and never before',
    spoil(queue) {
      const onTheWay = new Set<AppendInput>();
      return {
        async append(records, options) {
          for (const record of records) onTheWay.add(record);
          const outcomes = await queue.append(records, options);
          for (const record of records) onTheWay.delete(record);
          return outcomes;
        },
        async readBatch(key, max) {
          const batch = await queue.readBatch(key, max);
          const early = [...onTheWay].filter((one) => one.key === key);
          const items = early.map(({ raw }) => ({ raw, at: nowhere, after: nowhere }));
          return { ...batch, items: [...batch.items, ...items] };
        },
      };
    },
  },
  {
    defect: 'the records of a request become durable one by one (D19)',
    foundBy: 'keeps all or nothing of a request',
    spoil: (queue) => ({
      async append(records, options) {
        const outcomes: AppendOutcome[] = [];
        for (const record of records) outcomes.push(...(await queue.append([record], options)));
        return outcomes;
      },
    }),
  },
  {
    defect: 'a request above the limit of one key is taken in part (D19, P9)',
    foundBy: 'stores nothing of a request of which one key is above its limit',
    spoil: (queue) => ({
      async append(records, options) {
        const outcomes: AppendOutcome[] = [];
        for (const record of records) outcomes.push(...(await queue.append([record], options)));
        return outcomes;
      },
    }),
  },
  {
    defect: 'a limit is not held (P9)',
    foundBy: 'refuses a key above its backlog limit and names it',
    spoil: (queue) => ({
      async append(records, options) {
        try {
          return await queue.append(records, options);
        } catch (error) {
          if (!isMillraceError(error) || error.code !== 'BACKLOG_FULL') throw error;
          return records.map(() => ({ status: 'queued', epoch: 'e', position: nowhere }));
        }
      },
    }),
  },
  {
    defect: 'positions do not rise (P2)',
    foundBy: 'gives each record an outcome in order, with rising positions',
    spoil: (queue) => ({
      append: changeOutcomes(queue, (outcome) =>
        outcome.status === 'queued' ? { ...outcome, position: nowhere } : outcome,
      ),
    }),
  },
  {
    defect: 'positions are given twice after a crash (P2)',
    foundBy: 'goes on with higher positions after a crash',
    spoil: (queue, memory) => ({
      append: changeOutcomes(queue, (outcome) => {
        if (outcome.status !== 'queued') return outcome;
        const first = (memory.get('first') as Position | undefined) ?? outcome.position;
        memory.set('first', first);
        return { ...outcome, position: first };
      }),
    }),
  },
  {
    defect: 'the order within a request is not that of the log (ING-113)',
    foundBy: 'keeps the order of a key in the order of the request',
    spoil: (queue) => ({
      append: async (records, options) =>
        (await queue.append(records.toReversed(), options)).toReversed(),
    }),
  },
  {
    defect: 'stored bytes are decoded with loss (D14)',
    foundBy: 'keeps the bytes of every record as they came',
    spoil: (queue) => ({
      async readBatch(key, max) {
        const batch = await queue.readBatch(key, max);
        const items = batch.items.map((one) => ({
          ...one,
          raw: Buffer.from(Buffer.from(one.raw).toString('utf8')),
        }));
        return { ...batch, items };
      },
    }),
  },
  {
    defect: 'a failed append consumes its id (ING-520)',
    foundBy: 'consumes no id by a request that failed',
    spoil(queue) {
      const seen = new Set<string>();
      return {
        async append(records, options) {
          const known = records.some(({ eventId }) => eventId !== undefined && seen.has(eventId));
          for (const { eventId } of records) if (eventId !== undefined) seen.add(eventId);
          if (!known) return queue.append(records, options);
          return records.map(() => ({ status: 'duplicate', epoch: 'e', position: nowhere }));
        },
      };
    },
  },
  {
    defect: 'ids are looked up before the append and noted after it, without a guard (ING-T30)',
    foundBy: 'keeps the first of many that send one id at the same time',
    spoil(queue) {
      const known = new Set<string>();
      return {
        async append(records, options) {
          const [record] = records;
          const id = record?.eventId ?? '';
          if (known.has(id)) return [{ status: 'duplicate', epoch: 'e', position: nowhere }];
          const anonymous = records.map((one) => without(one, 'eventId'));
          const outcomes = await queue.append(anonymous, options);
          known.add(id);
          return outcomes;
        },
      };
    },
  },
  {
    defect: 'another content of a known id is dropped in silence (ING-T34)',
    foundBy: 'reports a known id with other content',
    spoil: (queue) => ({
      append: changeOutcomes(queue, (outcome) =>
        outcome.status === 'conflict'
          ? { status: 'duplicate', epoch: 'e', position: outcome.position }
          : outcome,
      ),
    }),
  },
  {
    defect: 'contents are compared as raw bytes (ING-T34)',
    foundBy: 'compares the content as JSON values',
    spoil(queue) {
      const first = new Map<string, Uint8Array>();
      return {
        append: changeOutcomes(queue, (outcome, record) => {
          if (record?.eventId === undefined) return outcome;
          const known = first.get(record.eventId) ?? record.raw;
          first.set(record.eventId, known);
          if (outcome.status !== 'duplicate' || Buffer.compare(known, record.raw) === 0)
            return outcome;
          const { position } = outcome;
          return { status: 'conflict', position, storedSha256: contentDigest(known) };
        }),
      };
    },
  },
  {
    defect: 'nobody owns a key (ING-915)',
    foundBy: 'lets the first principal own a key',
    spoil: (queue) => ({
      append: (records, options) =>
        queue.append(
          records.map((record) => ({ ...record, mayWriteForeign: true })),
          options,
        ),
    }),
  },
  {
    defect: 'an offset is committed with the cursor from before (P3)',
    foundBy: 'moves offset and cursor together',
    spoil: (queue) => ({
      commit: async (key, after, _cursor, applied) =>
        queue.commit(key, after, (await queue.readCursor(key)) ?? emptyCursor(), applied),
    }),
  },
  {
    defect: 'a cursor is kept although its commit failed (P3)',
    foundBy: 'leaves offset and cursor as they were when the sync of a commit fails',
    spoil(queue) {
      const cursors = new Map<Key, Cursor>();
      return {
        commit(key, after, cursor, applied) {
          cursors.set(key, cursor);
          return queue.commit(key, after, cursor, applied);
        },
        readCursor: async (key) => cursors.get(key) ?? queue.readCursor(key),
      };
    },
  },
  {
    defect: 'a commit may leave out its cursor (ING-104)',
    foundBy: 'refuses a commit without a cursor',
    spoil: (queue) => ({
      commit: (key, after, cursor, applied) =>
        queue.commit(key, after, (cursor as Cursor | null | undefined) ?? emptyCursor(), applied),
    }),
  },
  {
    defect: 'a commit may go back (P3)',
    foundBy: 'never goes back, and never into another epoch',
    spoil: (queue) => ({
      async commit(key, after, cursor, applied) {
        try {
          await queue.commit(key, after, cursor, applied);
        } catch (error) {
          if (!isMillraceError(error) || error.code !== 'POSITION_REGRESSION') throw error;
        }
      },
    }),
  },
  {
    defect: 'a dead letter is written before its commit, as a step of its own (D5)',
    foundBy: 'writes neither letter nor commit when the sync fails',
    spoil(queue) {
      let early = 0;
      return {
        async deadLetter(key, letters, after, cursor) {
          early += letters.length;
          await queue.deadLetter(key, letters, after, cursor);
          early -= letters.length;
        },
        async readDeadLetters(key) {
          const letters = await queue.readDeadLetters(key);
          return [...letters, ...Array.from({ length: early }, () => letters[0] ?? ({} as never))];
        },
      };
    },
  },
  {
    defect: 'a position that is dead already becomes a second letter (ING-718)',
    foundBy: 'adds nothing for a position that is dead already',
    spoil(queue) {
      let calls = 0;
      return {
        async deadLetter(key, letters, after, cursor) {
          await queue.deadLetter(key, letters, after, cursor);
          calls += 1;
        },
        async readDeadLetters(key) {
          const [letter] = await queue.readDeadLetters(key);
          return letter === undefined ? [] : Array.from({ length: calls }, () => letter);
        },
      };
    },
  },
  {
    defect: 'a requeue is an append that forgets the letter (ING-714)',
    foundBy: 'requeues in one step',
    spoil: (queue) => ({
      append: (records, options) =>
        queue.append(
          records.map((record) => without(record, 'settles')),
          options,
        ),
    }),
  },
  {
    defect: 'the books are off by one (P4)',
    foundBy: 'balances its books after every act',
    spoil: (queue) => ({
      totals() {
        const totals = queue.totals();
        return { ...totals, applied: totals.applied + (totals.dead > 0 ? 1 : 0) };
      },
    }),
  },
  {
    defect: 'duplicates are forgotten at a restart (ING-717)',
    foundBy: 'counts duplicates apart',
    spoil(queue, memory) {
      if (openings(memory) === 1) return {};
      return { totals: () => ({ ...queue.totals(), duplicates: 0 }) };
    },
  },
  {
    defect: 'one bad key stops all others (P7)',
    foundBy: 'stops one key in quarantine and no other',
    spoil(queue) {
      let isStopped = false;
      return {
        async quarantine(key, fault) {
          isStopped = true;
          await queue.quarantine(key, fault);
        },
        async readBatch(key, max) {
          if (isStopped)
            throw sessionQuarantined({ keys: [key], reason: 'another key is damaged' });
          return queue.readBatch(key, max);
        },
      };
    },
  },
  {
    defect: 'a drained key still waits for a drain',
    foundBy: 'names the keys that wait for a drain',
    spoil(queue) {
      const ever = new Set<Key>();
      return {
        async append(records, options) {
          for (const { key } of records) ever.add(key);
          return queue.append(records, options);
        },
        activeKeys: async () => [...ever],
      };
    },
  },
  {
    defect: 'a stopped writer goes on after a takeover (P6)',
    foundBy: 'lets no write of an older generation take effect',
    spoil(queue, memory) {
      memory.set('newest', queue);
      return {
        async append(records, options) {
          try {
            return await queue.append(records, options);
          } catch (error) {
            if (!isMillraceError(error) || error.disposition !== 'fenced') throw error;
            return (memory.get('newest') as Queue).append(records, options);
          }
        },
      };
    },
  },
  {
    defect: 'a closed queue takes appends and drops them (P10)',
    foundBy: 'takes no work once it is closed',
    spoil: (queue) => ({
      async append(records, options) {
        try {
          return await queue.append(records, options);
        } catch (error) {
          if (!isMillraceError(error) || error.code !== 'DRAINING') throw error;
          return records.map(() => ({ status: 'queued', epoch: 'e', position: nowhere }));
        }
      },
    }),
  },
];
