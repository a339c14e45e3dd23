import { Type } from 'typebox';
import { isMillraceError } from '#base';
import { waitTimedOut } from './errors.ts';
import type { Degradation, OpsContext } from './ops-context.ts';
import { type Verb, defineVerb } from './verb.ts';

const degradation = Type.Object({
  code: Type.String(),
  message: Type.String(),
  since: Type.String(),
});

const statusOutput = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  state: Type.String(),
  accepted: Type.Integer(),
  applied: Type.Integer(),
  pending: Type.Integer(),
  dead: Type.Integer(),
  discarded: Type.Integer(),
  duplicates: Type.Integer(),
  residual: Type.Integer(),
  quarantined: Type.Integer(),
  degraded: Type.Array(degradation),
  oldest_pending_ms: Type.Union([Type.Integer(), Type.Null()]),
  sessions: Type.Object({ known: Type.Integer(), active: Type.Integer() }),
  backlog_bytes: Type.Integer(),
  workers: Type.Record(Type.String(), Type.Integer()),
  store: Type.Object({ graph_id: Type.String() }),
  disk: Type.Object({
    path: Type.String(),
    free_bytes: Type.Integer(),
    total_bytes: Type.Integer(),
  }),
  version: Type.String(),
});

/** Everything that keeps the daemon from being well, in words, with the time since when. */
function degradations(context: OpsContext): readonly Degradation[] {
  return [...context.ledger.trouble(), ...context.drain.status().trouble, ...context.degraded()];
}

export const statusVerb: Verb = defineVerb({
  name: 'status',
  summary: 'the books of the daemon, and what is degraded',
  effect: 'read',
  scope: null,
  input: Type.Object({}, { additionalProperties: false }),
  output: statusOutput,
  http: { method: 'GET', path: '/v1/status', aliases: [{ method: 'GET', path: '/status' }] },
  async run(context) {
    const totals = context.ledger.totals();
    const disk = await context.disk();
    const degraded = degradations(context);
    return {
      status: degraded.length === 0 ? ('ok' as const) : ('degraded' as const),
      state: context.state(),
      accepted: totals.accepted,
      applied: totals.applied,
      pending: totals.pending,
      dead: totals.dead,
      discarded: totals.discarded,
      duplicates: totals.duplicates,
      residual: totals.accepted - totals.applied - totals.pending - totals.dead - totals.discarded,
      quarantined: totals.quarantinedKeys,
      degraded: [...degraded],
      oldest_pending_ms:
        totals.oldestPendingMs === null
          ? null
          : Math.max(0, context.clock.now() - totals.oldestPendingMs),
      sessions: { known: totals.knownKeys, active: totals.activeKeys },
      backlog_bytes: totals.backlogBytes,
      workers: { ...context.drain.status().workers },
      store: { graph_id: context.graph.graphId },
      disk: { path: disk.path, free_bytes: disk.freeBytes, total_bytes: disk.totalBytes },
      version: context.versions.product,
    };
  },
});

const timeoutMsDefault = 60_000;
const timeoutMsMax = 600_000;

export const waitVerb: Verb = defineVerb({
  name: 'wait',
  summary: 'answers once everything accepted is applied or dead',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    {
      until: Type.Optional(Type.Literal('idle')),
      timeout: Type.Optional(
        Type.Integer({ minimum: 1, maximum: timeoutMsMax, description: 'milliseconds' }),
      ),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({ idle: Type.Literal(true), waited_ms: Type.Integer() }),
  http: { method: 'GET', path: '/v1/wait' },
  async run(context, input, caller) {
    const timeoutMs = input.timeout ?? timeoutMsDefault;
    const began = context.clock.monotonic();
    const deadline = new AbortController();
    const timer = context.clock.after(timeoutMs, () =>
      deadline.abort(
        waitTimedOut({ until: 'idle', timeoutMs, pending: context.ledger.totals().pending }),
      ),
    );
    try {
      await context.drain.idle(AbortSignal.any([deadline.signal, caller.signal]));
    } catch (error) {
      if (isMillraceError(error)) throw error;
      throw waitTimedOut(
        { until: 'idle', timeoutMs, pending: context.ledger.totals().pending },
        error,
      );
    } finally {
      timer.cancel();
    }
    return { idle: true as const, waited_ms: Math.round(context.clock.monotonic() - began) };
  },
});

export const versionVerb: Verb = defineVerb({
  name: 'version',
  summary: 'versions of everything that is stored or spoken',
  effect: 'read',
  scope: null,
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    version: Type.String(),
    protocol: Type.String(),
    offset_record: Type.Integer(),
    cursor_schema: Type.Integer(),
    control_schema: Type.Integer(),
  }),
  http: { method: 'GET', path: '/v1/version', aliases: [{ method: 'GET', path: '/version' }] },
  run: (context) =>
    Promise.resolve({
      version: context.versions.product,
      protocol: context.versions.protocol,
      offset_record: context.versions.offsetRecord,
      cursor_schema: context.versions.cursorSchema,
      control_schema: context.versions.controlSchema,
    }),
});

export const limitsVerb: Verb = defineVerb({
  name: 'limits',
  summary: 'the limits that callers meet, and how appends are synced',
  effect: 'read',
  scope: null,
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    fsync: Type.String(),
    limits: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
  }),
  http: { method: 'GET', path: '/v1/limits' },
  run: (context) =>
    Promise.resolve({ fsync: context.queue.capabilities.fsync, limits: { ...context.limits } }),
});
