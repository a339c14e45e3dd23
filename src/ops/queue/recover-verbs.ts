import { type Static, Type } from 'typebox';
import type { KeyStatus, KeyVerdict } from '#queue';
import type { Key } from '#record';
import type { KeyRepair } from './key-repair.ts';
import type { OpsContext } from '../ops-context.ts';
import { repairOf } from './quarantine-verbs.ts';
import { findSession, maySee, sessionActInput } from '../sessions/session-lookup.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

const keysPerRead = 500;
/** Keys that one call looks at, and those that it names. */
const keysPerCallMax = 20_000;
const namedMax = 1000;

const verdictRow = Type.Object({
  key: Type.String(),
  verdict: Type.String(),
  reason: Type.String(),
  message: Type.String(),
  pending: Type.Integer(),
});

/** Keys from a page token on, or the one that is named. */
async function* keysOf(
  context: OpsContext,
  input: { readonly session?: string; readonly workspace?: string; readonly page_token?: string },
  caller: Caller,
): AsyncGenerator<KeyStatus> {
  const { session, workspace } = input;
  if (session !== undefined) {
    yield await findSession(context, session, workspace, caller);
    return;
  }
  let afterKey = input.page_token as Key | undefined;
  for (let looked = 0; looked < keysPerCallMax; looked += keysPerRead) {
    const page = await context.ledger.listKeys({
      limit: keysPerRead,
      ...(afterKey === undefined ? {} : { afterKey }),
      ...(workspace === undefined ? {} : { workspace }),
    });
    for (const status of page) yield status;
    afterKey = page.at(-1)?.key;
    if (page.length < keysPerRead) return;
  }
}

/** Judges a key; one that may be drained is drained again, its leading dead records passed first. */
async function recoverKey(repair: KeyRepair, key: Key): Promise<KeyVerdict & { passed: number }> {
  const verdict = await repair.classify(key);
  if (verdict.verdict !== 'resumable') return { ...verdict, passed: 0 };
  const passed = await repair.reconcile(key);
  repair.resume(key);
  return { ...verdict, passed };
}

export const queueRecoverVerb: Verb = defineVerb({
  name: 'queue recover',
  summary:
    'judge sessions as a start would, pass dead records that lead, and drain again what can be drained; clears no quarantine',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    {
      session: Type.Optional(Type.String({ minLength: 1 })),
      workspace: Type.Optional(Type.String()),
      page_token: Type.Optional(Type.String({ maxLength: 1024 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    keys: Type.Integer(),
    verdicts: Type.Record(Type.String(), Type.Integer()),
    passed_dead: Type.Integer(),
    /** Sessions that are neither drained nor well: what an operator should look at, at most 1000. */
    attention: Type.Array(verdictRow),
    next_page_token: Type.Optional(Type.String()),
  }),
  countOf: ({ keys }) => keys,
  http: { method: 'POST', path: '/v1/queue/recover' },
  async run(context, input, actor) {
    const repair = repairOf(context);
    const verdicts: Record<string, number> = {};
    const attention: Static<typeof verdictRow>[] = [];
    let passed = 0;
    let keys = 0;
    let last: Key | undefined;
    for await (const status of keysOf(context, input, actor)) {
      last = status.key;
      if (!maySee(actor, status.workspace)) continue;
      const judged = await recoverKey(repair, status.key);
      keys += 1;
      passed += judged.passed;
      verdicts[judged.verdict] = (verdicts[judged.verdict] ?? 0) + 1;
      const isWell = ['ok', 'drained', 'resumable'].includes(judged.verdict);
      if (!isWell && attention.length < namedMax) attention.push(rowOf(judged));
    }
    return {
      keys,
      verdicts,
      passed_dead: passed,
      attention,
      ...(keys < keysPerCallMax || last === undefined ? {} : { next_page_token: last as string }),
    };
  },
});

function rowOf({ key, verdict, reason, message, pending }: KeyVerdict) {
  return { key: key as string, verdict, reason, message, pending };
}

export const queueReplayVerb: Verb = defineVerb({
  name: 'queue replay',
  summary: 'drain a session again from where its log begins, with the cursor of that place',
  effect: 'destroy',
  scope: 'ops:write',
  input: sessionActInput,
  output: Type.Object({
    dry_run: Type.Boolean(),
    key: Type.String(),
    committed: Type.String(),
    before: Type.String(),
    pending: Type.Integer(),
  }),
  http: { method: 'POST', path: '/v1/sessions/{session}/replay' },
  async run(context, input, actor) {
    const repair = repairOf(context);
    const status = await findSession(context, input.session, input.workspace, actor);
    const { key } = status;
    if (input.dry_run === true) {
      const at = status.committed as string;
      return {
        dry_run: true,
        key: key as string,
        committed: at,
        before: at,
        pending: status.pending,
      };
    }
    const report = await repair.reset(key, {
      by: actor.principal,
      operationId: actor.operationId,
    });
    return {
      dry_run: false,
      key: key as string,
      committed: report.committed as string,
      before: report.before as string,
      pending: report.pending,
    };
  },
});
