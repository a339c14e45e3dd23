import { Type } from 'typebox';
import { retainedParts, type PartReport, type PlannedItem, type RetentionRule } from '#keeping';
import { checkConfirmed, confirmOf } from '../letters/confirm-shown.ts';
import { retentionRuleMissing, retentionUnsupported } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const part = Type.Enum([...retainedParts]);
const orNull = <T extends ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>(
  schema: T,
) => Type.Union([schema, Type.Null()]);

const ruleMembers = {
  part,
  max_age_ms: orNull(Type.Integer()),
  max_bytes: orNull(Type.Integer()),
};

export const retentionShowVerb: Verb = defineVerb({
  name: 'retention show',
  summary: 'which rules of retention are set, what they have taken, and what goes next',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    rules: Type.Array(
      Type.Object({
        ...ruleMembers,
        /** Nothing goes before: a rule is told for a day first. */
        from: orNull(Type.String()),
        /** Bytes of everything of this part; null before the first pass. */
        bytes: orNull(Type.Integer()),
        /** What goes within a day (or the age of the rule, where it is shorter). */
        waiting: orNull(Type.Integer()),
        waiting_bytes: orNull(Type.Integer()),
        first_at: orNull(Type.String()),
        taken: Type.Integer(),
        taken_bytes: Type.Integer(),
        looked_at: orNull(Type.String()),
        trouble: orNull(Type.String()),
      }),
    ),
  }),
  http: { method: 'GET', path: '/v1/retention' },
  run(context, _input, caller) {
    requireAllWorkspaces(caller, 'retention');
    const reports = new Map(context.retention.reports().map((report) => [report.part, report]));
    const rules = context.retention.parts.flatMap((name) => {
      const rule = context.retention.ruleOf(name);
      const isOff = rule.maxAgeMs === null && rule.maxBytes === null;
      return isOff ? [] : [{ part: name, ...numbersOf(rule), ...factsOf(reports.get(name)) }];
    });
    return Promise.resolve({ rules });
  },
});

function numbersOf({ maxAgeMs, maxBytes }: RetentionRule) {
  return { max_age_ms: maxAgeMs, max_bytes: maxBytes };
}

const notLooked = {
  from: null,
  bytes: null,
  waiting: null,
  waiting_bytes: null,
  first_at: null,
  taken: 0,
  taken_bytes: 0,
  looked_at: null,
  trouble: null,
};

function factsOf(report: PartReport | undefined) {
  if (report === undefined) return notLooked;
  const { fromMs, bytes, waiting, taken, lookedMs, trouble } = report;
  return {
    from: timeOf(fromMs),
    bytes,
    waiting: waiting.count,
    waiting_bytes: waiting.bytes,
    first_at: waiting.firstMs === null ? null : timeOf(waiting.firstMs),
    taken: taken.count,
    taken_bytes: taken.bytes,
    looked_at: timeOf(lookedMs),
    trouble: trouble?.message ?? null,
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Below this a running agent could be taken for an old session. */
const ageMsMin = 60_000;
const limitDefault = 1000;
const limitMax = 10_000;

export const retentionRunVerb: Verb = defineVerb({
  name: 'retention run',
  summary:
    'let go what is older, or more, than a rule says: sessions (graph), large values, archived logs or settled dead letters; a dry run unless it is said otherwise',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      part,
      /** Without both it is the rule of the settings. */
      max_age_ms: Type.Optional(Type.Integer({ minimum: ageMsMin })),
      max_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limitMax })),
      dry_run: Type.Optional(Type.Boolean()),
      /** That of the dry run: nothing else than what it has shown goes. */
      confirm: Type.Optional(Type.String({ maxLength: 1024 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    ...ruleMembers,
    /** Of everything of this part, before. */
    bytes: Type.Integer(),
    count: Type.Integer(),
    /** Stands for what is shown. */
    confirm: Type.String(),
    /** Of what went, or would go. */
    taken_bytes: Type.Integer(),
    items: Type.Array(
      Type.Object({
        name: Type.String(),
        at: Type.String(),
        bytes: Type.Integer(),
        why: Type.Union([Type.Literal('age'), Type.Literal('size')]),
      }),
    ),
    /** Left as they are, and why. */
    skipped: Type.Array(Type.Object({ name: Type.String(), code: Type.String() })),
    /** There are more than the limit. */
    has_more: Type.Boolean(),
  }),
  countOf: ({ dry_run, count }) => (dry_run ? 0 : count),
  http: { method: 'POST', path: '/v1/retention/run' },
  async run(context, input, caller) {
    requireAllWorkspaces(caller, 'retention');
    const { limit = limitDefault } = input;
    const rule = ruleOf(context, input);
    const isDryRun = input.dry_run !== false;
    const check = (going: readonly PlannedItem[]): void =>
      checkConfirmed(input.confirm, namesOf(going));
    const run = await context.retention.run({ part: input.part, rule, limit, isDryRun, check });
    if (run === undefined) throw retentionUnsupported({ part: input.part });
    return {
      dry_run: isDryRun,
      part: input.part,
      ...numbersOf(rule),
      bytes: run.bytes,
      count: run.taken.length,
      confirm: confirmOf(namesOf(run.taken)),
      taken_bytes: run.taken.reduce((sum, { bytes }) => sum + bytes, 0),
      items: run.taken.map(rowOf),
      skipped: run.kept.map(({ name, refused }) => ({ name, code: refused })),
      has_more: run.hasMore,
    };
  },
});

/** What was asked for; else what the settings say. */
function ruleOf(
  context: OpsContext,
  input: {
    readonly part: PartReport['part'];
    readonly max_age_ms?: number;
    readonly max_bytes?: number;
  },
): RetentionRule {
  const { max_age_ms: maxAgeMs = null, max_bytes: maxBytes = null } = input;
  if (maxAgeMs !== null || maxBytes !== null) return { maxAgeMs, maxBytes };
  const rule = context.retention.ruleOf(input.part);
  if (rule.maxAgeMs === null && rule.maxBytes === null)
    throw retentionRuleMissing({ part: input.part });
  return rule;
}

function namesOf(items: readonly PlannedItem[]): readonly string[] {
  return items.map(({ item: { name } }) => name);
}

function rowOf({ item: { name, atMs }, bytes, why }: PlannedItem) {
  return { name, at: timeOf(atMs), bytes, why };
}
