import { Type } from 'typebox';
import { findWorker } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

/** The predecessor's routes as views of the same acts (ING-946). */

const listMax = 1000;
/** Calls of a thousand letters each: these routes know no pages. */
const callsMax = 100;

export const queuesDeadListVerb: Verb = defineVerb({
  name: 'queues dead-letter',
  summary: 'dead letters by worker key, as the predecessor lists them',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    dead_letters: Type.Array(
      Type.Object({
        worker_key: Type.String(),
        item_count: Type.Integer(),
        last_error: Type.String(),
        last_ts: Type.Number(),
      }),
    ),
  }),
  http: { method: 'GET', path: '/queues/dead-letter' },
  async run(context, _input, caller) {
    const filter = caller.workspaces === undefined ? {} : { visibleWorkspaces: caller.workspaces };
    const { letters } = await context.deadLetters.list(filter, { limit: listMax });
    const byKey = Map.groupBy(letters, ({ key }) => key);
    return {
      dead_letters: [...byKey].map(([key, list]) => ({
        worker_key: key as string,
        item_count: list.length,
        last_error: list.at(-1)?.error.message ?? '',
        last_ts: Date.parse(list.at(-1)?.ts ?? '') / 1000,
      })),
    };
  },
});

const workerKey = Type.Object({ worker_key: Type.String() }, { additionalProperties: false });

export const queuesReplayVerb: Verb = defineVerb({
  name: 'queues dead-letter replay',
  summary: 'append all live dead letters of one key again',
  effect: 'write',
  scope: 'ops:write',
  input: workerKey,
  output: Type.Object({ worker_key: Type.String(), replayed: Type.Integer() }),
  countOf: ({ replayed }) => replayed,
  http: { method: 'POST', path: '/queues/dead-letter/{worker_key}/replay' },
  async run(context, input, caller) {
    const { key } = await findWorker(context, input.worker_key, caller);
    let replayed = 0;
    for (let calls = 0, hasMore = true; hasMore && calls < callsMax; calls += 1) {
      const done = await context.deadLetters.requeueKey(key);
      replayed += done.requeued.length;
      hasMore = done.hasMore && done.requeued.length > 0;
    }
    return { worker_key: key as string, replayed };
  },
});

export const queuesPurgeVerb: Verb = defineVerb({
  name: 'queues dead-letter purge',
  summary: 'discard all live dead letters of one key',
  effect: 'destroy',
  scope: 'ops:write',
  input: workerKey,
  output: Type.Object({ worker_key: Type.String(), purged: Type.Integer() }),
  countOf: ({ purged }) => purged,
  http: { method: 'POST', path: '/queues/dead-letter/{worker_key}/purge' },
  async run(context, input, caller) {
    const { key } = await findWorker(context, input.worker_key, caller);
    let purged = 0;
    for (let calls = 0, hasMore = true; hasMore && calls < callsMax; calls += 1) {
      const done = await context.deadLetters.discard(
        { key },
        { principal: caller.principal },
        { isDryRun: false },
      );
      purged += done.count;
      hasMore = done.hasMore && done.count > 0;
    }
    return { worker_key: key as string, purged };
  },
});
