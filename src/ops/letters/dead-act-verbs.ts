import { Type } from 'typebox';
import {
  discardUnconfirmed,
  filterTooWide,
  selectLetters,
  type Letter,
  type LetterFilter,
} from '#dead-letters';
import { deadLetterState } from '#queue';
import { findLetter } from './dead-verbs.ts';
import { jobRow, jobRowOf } from '../daemon/job-verbs.ts';
import { filterOf, previewOf, previewRow, selectionMembers } from './letter-input.ts';
import type { OpsContext } from '../ops-context.ts';
import { findSession } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const requeued = Type.Object({
  id: Type.String(),
  status: Type.String(),
  epoch: Type.String(),
  position: Type.String(),
});
const requeuedOrPreview = Type.Object({
  ...Type.Partial(requeued).properties,
  dry_run: Type.Optional(Type.Boolean()),
  preview: Type.Optional(previewRow),
});

const actMembers = {
  dry_run: Type.Optional(Type.Boolean()),
  into_current: Type.Optional(Type.Boolean()),
};

function optionsOf({ into_current: intoCurrent }: { readonly into_current?: boolean }) {
  return intoCurrent === undefined ? {} : { intoCurrent };
}

export const deadRequeueVerb: Verb = defineVerb({
  name: 'dead requeue',
  summary: 'append a dead letter again, as a new record',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object({ id: Type.String(), ...actMembers }, { additionalProperties: false }),
  output: requeuedOrPreview,
  http: { method: 'POST', path: '/v1/dead-letters/{id}/requeue', status: 202 },
  async run(context, input, caller) {
    const letter = await findLetter(context, input.id, caller);
    if (input.dry_run === true) {
      const [preview] = await context.deadLetters.preview([letter], optionsOf(input));
      return { dry_run: true, ...(preview === undefined ? {} : { preview: previewOf(preview) }) };
    }
    const { id, status, epoch, position } = await context.deadLetters.requeue(
      input.id,
      optionsOf(input),
    );
    return { id, status, epoch, position };
  },
});

export const deadEditVerb: Verb = defineVerb({
  name: 'dead edit',
  summary: 'append a dead letter again with another payload; the letter keeps the original',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    { id: Type.String(), event: Type.String(), ...actMembers },
    { additionalProperties: false },
  ),
  output: requeuedOrPreview,
  hiddenInput: ['event'],
  http: { method: 'POST', path: '/v1/dead-letters/{id}/edit', status: 202 },
  async run(context, input, caller) {
    await findLetter(context, input.id, caller);
    const order = { event: input.event, ...optionsOf(input) };
    if (input.dry_run === true) {
      const preview = await context.deadLetters.previewEdit(input.id, order);
      return { dry_run: true, preview: previewOf(preview) };
    }
    const { id, status, epoch, position } = await context.deadLetters.edit(input.id, order);
    return { id, status, epoch, position };
  },
});

export const deadRequeueSessionVerb: Verb = defineVerb({
  name: 'dead requeue of session',
  summary: 'append all live dead letters of one session again',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    { session: Type.String(), workspace: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  output: Type.Object({ requeued: Type.Array(requeued), more: Type.Boolean() }),
  countOf: (output) => output.requeued.length,
  http: { method: 'POST', path: '/v1/sessions/{session}/dead-letters/requeue', status: 202 },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.session, input.workspace, caller);
    const done = await context.deadLetters.requeueKey(key);
    return {
      more: done.hasMore,
      requeued: done.requeued.map(({ id, status, epoch, position }) => ({
        id,
        status,
        epoch,
        position,
      })),
    };
  },
});

const previewsMax = 1000;
const reason = Type.Optional(Type.String({ maxLength: 1000 }));

export const deadRequeueSelectionVerb: Verb = defineVerb({
  name: 'dead requeue selection',
  summary:
    'a job that appends all letters of a filter, a group or a list again; or what it would do',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    {
      ...selectionMembers,
      ...actMembers,
      /** Letters that a dry run folds. */
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: previewsMax })),
      per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
      reason,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    /** Letters that are selected; of a dry run too. */
    count: Type.Integer(),
    job: Type.Optional(jobRow),
    previews: Type.Optional(Type.Array(previewRow)),
    summary: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  }),
  countOf: ({ count }) => count,
  http: { method: 'POST', path: '/v1/dead-letters/requeue', status: 202 },
  async run(context, input, caller) {
    const filter = filterOf(input, caller);
    if (input.dry_run === true)
      return previewSelection(context, filter, input.limit ?? 100, optionsOf(input));
    const job = await context.jobs.begin({
      id: caller.operationId,
      kind: 'requeue',
      principal: caller.principal,
      filter,
      ...optionsOf(input),
      ...(input.per_second === undefined ? {} : { perSecond: input.per_second }),
      ...(input.reason === undefined ? {} : { reason: input.reason }),
    });
    return { dry_run: false, count: job.total, job: jobRowOf(job) };
  },
});

async function previewSelection(
  context: OpsContext,
  filter: LetterFilter,
  limit: number,
  options: { readonly intoCurrent?: boolean },
) {
  const first: Letter[] = [];
  let count = 0;
  for await (const letter of context.deadLetters.each(filter)) {
    if (letter.outcome.kind !== 'live') continue;
    count += 1;
    if (first.length < limit) first.push(letter);
  }
  const previews = (await context.deadLetters.preview(first, options)).map(previewOf);
  const summary: Record<string, number> = { applies: 0, dies: 0, refused: 0 };
  for (const { outcome } of previews) summary[outcome] = (summary[outcome] ?? 0) + 1;
  return { dry_run: true, count, previews, summary };
}

/** Of a discard that touched more, the ids of the first are told. */
const idsMax = 1000;
/** A discard of usual size is done when it is answered; a larger one goes on as a job. */
const discardWaitMs = 5000;

export const deadDiscardVerb: Verb = defineVerb({
  name: 'dead discard',
  summary: 'give dead letters up by name; shows what it would touch unless dry_run is false',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      ...selectionMembers,
      reason,
      dry_run: Type.Optional(Type.Boolean()),
      /** What the dry run answered: these letters and no other; `all` stands for whatever matches now. */
      confirm: Type.Optional(Type.String({ maxLength: 64 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    count: Type.Integer(),
    ids: Type.Array(Type.String()),
    more: Type.Boolean(),
    confirm: Type.Optional(Type.String()),
    job: Type.Optional(jobRow),
  }),
  countOf: ({ count }) => count,
  http: { method: 'POST', path: '/v1/dead-letters/discard' },
  async run(context, input, caller) {
    const filter = filterOf(input, caller);
    const { visibleWorkspaces: _own, ...named } = filter;
    const isDryRun = input.dry_run !== false;
    // A dry run too: it would show what is refused afterwards.
    if (Object.keys(named).length === 0) throw filterTooWide({});
    await requireLive(context, input.id, caller);
    const ids: string[] = [];
    const found = await selectLetters(context.deadLetters, filter, (some) => {
      ids.push(...some.slice(0, idsMax - ids.length));
    });
    const { count, confirm } = found;
    const shown = { count, ids, more: count > ids.length };
    if (isDryRun) return { dry_run: true, ...shown, confirm };
    if (input.confirm === undefined) throw discardUnconfirmed({ count });
    const job = await context.jobs.begin({
      id: caller.operationId,
      kind: 'discard',
      principal: caller.principal,
      filter,
      ...(input.confirm === 'all' ? {} : { confirm: input.confirm }),
      ...(input.reason === undefined ? {} : { reason: input.reason }),
    });
    const done = await settledSoon(context, job.id, caller.signal);
    return { dry_run: false, ...shown, job: jobRowOf(done) };
  },
});

/** One letter by name is told what is wrong with it, where a filter would merely find none. */
async function requireLive(
  context: OpsContext,
  id: string | undefined,
  caller: Parameters<typeof findLetter>[2],
): Promise<void> {
  if (id === undefined) return;
  const { outcome } = await findLetter(context, id, caller);
  if (outcome.kind !== 'live') throw deadLetterState({ id, outcome: outcome.kind });
}

async function settledSoon(context: OpsContext, id: string, signal: AbortSignal) {
  const patience = new AbortController();
  const timer = context.clock.after(discardWaitMs, () => patience.abort());
  try {
    return await context.jobs.settled(id, AbortSignal.any([signal, patience.signal]));
  } finally {
    timer.cancel();
  }
}
