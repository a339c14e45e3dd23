import { Type } from 'typebox';
import type { Letter } from '#dead-letters';
import { findSession } from './session-lookup.ts';
import { type Verb, defineVerb } from './verb.ts';

/** The predecessor's routes as views of the same acts (ING-946). */

const listMax = 1000;

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
    const byKey = new Map<string, Letter[]>();
    for (const letter of letters) byKey.set(letter.key, [...(byKey.get(letter.key) ?? []), letter]);
    return {
      dead_letters: [...byKey].map(([key, list]) => ({
        worker_key: key,
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
  http: { method: 'POST', path: '/queues/dead-letter/{worker_key}/replay' },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.worker_key, undefined, caller);
    const { requeued } = await context.deadLetters.requeueKey(key);
    return { worker_key: key as string, replayed: requeued.length };
  },
});

export const queuesPurgeVerb: Verb = defineVerb({
  name: 'queues dead-letter purge',
  summary: 'discard all live dead letters of one key',
  effect: 'destroy',
  scope: 'ops:write',
  input: workerKey,
  output: Type.Object({ worker_key: Type.String(), purged: Type.Integer() }),
  http: { method: 'POST', path: '/queues/dead-letter/{worker_key}/purge' },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.worker_key, undefined, caller);
    const { count } = await context.deadLetters.discard(
      { key },
      { principal: caller.principal },
      { isDryRun: false },
    );
    return { worker_key: key as string, purged: count };
  },
});
