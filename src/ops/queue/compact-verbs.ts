import { Type } from 'typebox';
import { capabilityMissing, compactionRefused } from '#queue';
import type { Key } from '#record';
import type { Compaction, OpsContext } from '../ops-context.ts';
import { findSession, requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const minBytes = Type.Optional(Type.Integer({ minimum: 0 }));

const compacted = Type.Object({
  key: Type.String(),
  generation: Type.Integer(),
  removed_bytes: Type.Integer(),
  kept_bytes: Type.Integer(),
});

/** Sessions that one call looks at. */
const sessionsPerCallMax = 1000;

function compactionOf({ compaction }: OpsContext): Compaction {
  if (compaction !== undefined) return compaction;
  throw capabilityMissing({ backend: 'configured', capability: 'logStructured' });
}

async function compact({ logs, minBytes: usual }: Compaction, key: Key, least = usual) {
  const report = await logs.compactCommittedPrefix(key, least);
  const { generation, removedBytes, keptBytes } = report;
  return {
    key: key as string,
    generation,
    removed_bytes: removedBytes,
    kept_bytes: keptBytes,
  };
}

export const queueCompactVerb: Verb = defineVerb({
  name: 'queue compact',
  summary: 'remove what is committed from the log of one session',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    {
      session: Type.String({ minLength: 1 }),
      workspace: Type.Optional(Type.String()),
      min_bytes: minBytes,
    },
    { additionalProperties: false },
  ),
  output: compacted,
  http: { method: 'POST', path: '/v1/sessions/{session}/compact' },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.session, input.workspace, caller);
    return compact(compactionOf(context), key, input.min_bytes);
  },
});

export const queueCompactAllVerb: Verb = defineVerb({
  name: 'queue compact all',
  summary: 'the same for every session of which that is worth it, page by page',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    {
      min_bytes: minBytes,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: sessionsPerCallMax })),
      page_token: Type.Optional(Type.String({ maxLength: 1024 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    compacted: Type.Array(compacted),
    removed_bytes: Type.Integer(),
    next_page_token: Type.Optional(Type.String()),
  }),
  countOf: (output) => output.compacted.length,
  http: { method: 'POST', path: '/v1/queue/compact' },
  async run(context, input, caller) {
    requireAllWorkspaces(caller, 'a compaction of all sessions');
    const compaction = compactionOf(context);
    const limit = input.limit ?? sessionsPerCallMax;
    const statuses = await context.ledger.listKeys({
      limit,
      ...(input.page_token === undefined ? {} : { afterKey: input.page_token as Key }),
    });
    const done = [];
    for (const { key, isFinalised } of statuses) {
      if (isFinalised) continue;
      try {
        done.push(await compact(compaction, key, input.min_bytes));
      } catch (error) {
        // Not worth it, or stopped: that is asked for of none in particular.
        if (!compactionRefused.is(error)) throw error;
      }
    }
    const last = statuses.at(-1);
    return {
      compacted: done,
      removed_bytes: done.reduce((sum, one) => sum + one.removed_bytes, 0),
      ...(statuses.length < limit || last === undefined
        ? {}
        : { next_page_token: last.key as string }),
    };
  },
});
