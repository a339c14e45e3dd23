import { Type } from 'typebox';
import { type ClearMode, clearRefused, requireCapability, type QuarantineView } from '#queue';
import type { Key } from '#record';
import { quarantineUnknown } from '../errors.ts';
import type { KeyRepair } from './key-repair.ts';
import type { OpsContext } from '../ops-context.ts';
import { findSession, maySee } from '../sessions/session-lookup.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

/** CAPABILITY_MISSING for a queue that is no log. */
export function repairOf(context: OpsContext): KeyRepair {
  requireCapability(context.queue, 'logStructured', 'configured');
  const { repair } = context;
  if (repair === undefined) throw new RangeError('a queue of log files has a repair');
  return repair;
}

const stoppedRow = Type.Object({
  key: Type.String(),
  workspace: Type.String(),
  session_id: Type.String(),
  code: Type.String(),
  message: Type.String(),
  since: Type.String(),
  pending: Type.Integer(),
  backlog_bytes: Type.Integer(),
});

export const quarantineListVerb: Verb = defineVerb({
  name: 'quarantine list',
  summary: 'sessions that are stopped because their stored state is damaged',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      page_token: Type.Optional(Type.String({ maxLength: 1024 })),
      workspace: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    quarantine: Type.Array(stoppedRow),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/quarantine' },
  async run(context, input, caller) {
    const limit = input.limit ?? 100;
    const found = await context.ledger.listKeys({
      limit,
      state: 'quarantined',
      ...(input.page_token === undefined ? {} : { afterKey: input.page_token as Key }),
      ...(input.workspace === undefined ? {} : { workspace: input.workspace }),
    });
    const last = found.length < limit ? undefined : found.at(-1);
    return {
      quarantine: found
        .filter(({ workspace }) => maySee(caller, workspace))
        .flatMap(({ key, workspace, session, quarantine, pending, backlogBytes }) =>
          quarantine === null
            ? []
            : {
                key: key as string,
                workspace,
                session_id: session,
                ...quarantine,
                pending,
                backlog_bytes: backlogBytes,
              },
        ),
      ...(last === undefined ? {} : { next_page_token: last.key as string }),
    };
  },
});

const sessionMembers = {
  session: Type.String({ minLength: 1 }),
  workspace: Type.Optional(Type.String()),
};

const modeType = Type.Union([
  Type.Literal('keep'),
  Type.Literal('offset-from-preserved'),
  Type.Literal('restart-log'),
  Type.Literal('skip-to-end'),
  Type.Literal('pass-over'),
]);

const view = Type.Object({
  ...stoppedRow.properties,
  folder: Type.String(),
  committed: Type.String(),
  end: Type.String(),
  record_fault: Type.Union([Type.String(), Type.Null()]),
  damage: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer() })),
  damage_count: Type.Integer(),
  unparsed_letters: Type.Integer(),
  preserved: Type.Array(Type.Object({ name: Type.String(), bytes: Type.Integer() })),
  ways: Type.Array(Type.Object({ mode: modeType, applies: Type.Boolean(), reason: Type.String() })),
});

function viewOf(found: QuarantineView) {
  return {
    key: found.key as string,
    workspace: found.workspace,
    session_id: found.session,
    code: found.code,
    message: found.message,
    since: found.since,
    pending: found.pending,
    backlog_bytes: found.backlogBytes,
    folder: found.folder,
    committed: found.committed as string,
    end: found.end as string,
    record_fault: found.recordFault,
    damage: found.damage.map(({ from, to }) => ({ from, to })),
    damage_count: found.damageCount,
    unparsed_letters: found.unparsedLetters,
    preserved: found.preserved.map(({ name, bytes }) => ({ name, bytes })),
    ways: found.ways.map(({ mode, applies, reason }) => ({ mode, applies, reason })),
  };
}

interface SessionInput {
  readonly session: string;
  readonly workspace?: string;
}

async function findStopped(
  context: OpsContext,
  { session, workspace }: SessionInput,
  caller: Caller,
): Promise<QuarantineView> {
  const { key } = await findSession(context, session, workspace, caller);
  const found = await repairOf(context).show(key);
  if (found === undefined) throw quarantineUnknown({ session });
  return found;
}

export const quarantineShowVerb: Verb = defineVerb({
  name: 'quarantine show',
  summary: 'one stopped session: what is damaged, what is kept of it, which ways out apply',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(sessionMembers, { additionalProperties: false }),
  output: view,
  http: { method: 'GET', path: '/v1/quarantine/{session}' },
  async run(context, input, caller) {
    return viewOf(await findStopped(context, input, caller));
  },
});

const cleared = Type.Object({
  dry_run: Type.Boolean(),
  key: Type.String(),
  mode: modeType,
  /** What the way does, in words. */
  effect: Type.String(),
  /** False when this very operation was done before. */
  is_new: Type.Boolean(),
  committed: Type.String(),
  cursor_from: Type.Union([
    Type.Literal('kept'),
    Type.Literal('preserved'),
    Type.Literal('generation'),
    Type.Literal('folded'),
    Type.Null(),
  ]),
  letters: Type.Integer(),
  dead_records: Type.Integer(),
  pending: Type.Integer(),
});

export const quarantineClearVerb: Verb = defineVerb({
  name: 'quarantine clear',
  summary:
    'take one of the five ways out of a quarantine; shows what it would do when dry_run is true',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      ...sessionMembers,
      mode: modeType,
      file: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      confirm: Type.Optional(Type.String()),
      dry_run: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  output: cleared,
  countOf: ({ dead_records: records }) => records,
  http: { method: 'POST', path: '/v1/quarantine/{session}/clear' },
  async run(context, input, actor) {
    const { session, workspace, mode, file, confirm } = input;
    const { key } = await findSession(context, session, workspace, actor);
    const repair = repairOf(context);
    const found = await repair.show(key);
    const effect = found === undefined ? '' : effectOf(found, mode);
    if (input.dry_run === true && found === undefined) throw quarantineUnknown({ session });
    if (input.dry_run === true && found !== undefined) return dryRun(found, mode, effect);
    if (mode === 'skip-to-end' && confirm !== key)
      throw clearRefused({
        key,
        mode,
        reason: `every record that waits becomes a dead letter: confirm it with the key ${key}`,
        ways: [],
      });
    const report = await repair.clear(key, {
      mode,
      by: actor.principal,
      operationId: actor.operationId,
      ...(file === undefined ? {} : { file }),
    });
    return {
      dry_run: false,
      key: key as string,
      mode,
      effect,
      is_new: report.isNew,
      committed: report.committed as string,
      cursor_from: report.cursorFrom,
      letters: report.letters,
      dead_records: report.deadRecords,
      pending: report.pending,
    };
  },
});

function effectOf(found: QuarantineView, mode: ClearMode): string {
  return found.ways.find((way) => way.mode === mode)?.reason ?? '';
}

function dryRun(found: QuarantineView, mode: ClearMode, effect: string) {
  const ways = found.ways.filter(({ applies }) => applies).map((way) => way.mode);
  const { key } = found;
  if (!ways.includes(mode)) throw clearRefused({ key, mode, reason: effect, ways });
  return {
    dry_run: true,
    key: key as string,
    mode,
    effect,
    is_new: true,
    committed: found.committed as string,
    cursor_from: null,
    letters: 0,
    dead_records: mode === 'skip-to-end' ? found.pending : 0,
    pending: found.pending,
  };
}
