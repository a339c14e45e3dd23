import { isMillraceError } from '#base';
import { sessionQuarantined } from '#queue';
import { emptyCursor, type Cursor, type Key } from '#record';
import type { Queue } from '../../support/queue-fixtures.ts';
import { nowhere, openings, without, type BrokenQueue } from './broken-queue.ts';

/** Queues that commit, count, stop or end wrongly. */
export const brokenKeepings: readonly BrokenQueue[] = [
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
