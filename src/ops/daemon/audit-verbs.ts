import { Type } from 'typebox';
import type { AuditRow } from '#control';
import { newestFirst, newestPage, tokenBehind } from '../newest-first.ts';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

const auditRow = Type.Object({
  run: Type.Integer(),
  operation_id: Type.String(),
  verb: Type.String(),
  principal: Type.String(),
  input: Type.Record(Type.String(), Type.Unknown()),
  /** `done`, the code of the refusal, INTERRUPTED after a crash; null while it runs. */
  outcome: Type.Union([Type.String(), Type.Null()]),
  count: Type.Union([Type.Integer(), Type.Null()]),
  began_at: Type.String(),
  ended_at: Type.Union([Type.String(), Type.Null()]),
});

function rowOf({ run, operationId, verb, principal, input, ...rest }: AuditRow) {
  return {
    run,
    operation_id: operationId,
    verb,
    principal,
    input: JSON.parse(input) as Record<string, unknown>,
    outcome: rest.outcome,
    count: rest.count,
    began_at: rest.beganAt,
    ended_at: rest.endedAt,
  };
}

export const auditListVerb: Verb = defineVerb({
  name: 'audit list',
  summary: 'acts of operators, newest first: who did what, and what came of it',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(newestFirst, { additionalProperties: false }),
  output: Type.Object({
    audit: Type.Array(auditRow),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/audit' },
  async run(context, input, caller) {
    requireAllWorkspaces(caller, 'the audit');
    const page = newestPage(input);
    const rows = context.operations.audit(page);
    return {
      audit: rows.map(rowOf),
      ...tokenBehind(rows, page, ({ run }) => run),
    };
  },
});
