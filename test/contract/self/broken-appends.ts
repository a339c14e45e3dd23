import { isMillraceError } from '#base';
import type { AppendInput, AppendOutcome } from '#queue';
import { contentDigest, type Position } from '#record';
import {
  changeOutcomes,
  nowhere,
  openings,
  without,
  withoutLast,
  type BrokenQueue,
} from './broken-queue.ts';

const losesOnRestart: Pick<BrokenQueue, 'defect' | 'spoil'> = {
  defect: 'a record is lost at a restart (P1, P4)',
  spoil(queue, memory) {
    if (openings(memory) === 1) return {};
    return { readBatch: async (key, max) => withoutLast(await queue.readBatch(key, max)) };
  },
};

/** Queues that take records in wrongly. */
export const brokenAppends: readonly BrokenQueue[] = [
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
];
