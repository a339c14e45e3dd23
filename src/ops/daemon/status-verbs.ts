import { Type, type Static } from 'typebox';
import { isMillraceError, messageOf } from '#base';
import type { PartReport } from '#keeping';
import { waitTimedOut } from '../errors.ts';
import {
  degradationOf,
  type Degradation,
  type DiskFacts,
  type OpsContext,
} from '../ops-context.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

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
  /** Sessions in line for a worker. */
  waiting_sessions: Type.Integer(),
  /** Part of a core that the drain may take now, below 1 while clients go first. */
  drain_share: Type.Number(),
  /** Bytes of journal that session files do not hold yet. */
  journal_lag_bytes: Type.Integer(),
  jobs_open: Type.Integer(),
  store: Type.Object({ graph_id: Type.Union([Type.String(), Type.Null()]) }),
  disk: Type.Union([
    Type.Object({
      path: Type.Union([Type.String(), Type.Null()]),
      free_bytes: Type.Integer(),
      total_bytes: Type.Integer(),
    }),
    Type.Null(),
  ]),
  /** Bytes that the root takes, by component, as measured last: within a minute or so. */
  storage: Type.Union([
    Type.Object({
      queue: Type.Integer(),
      graph: Type.Integer(),
      state: Type.Integer(),
      control: Type.Integer(),
      objects: Type.Integer(),
      measured_at: Type.String(),
    }),
    Type.Null(),
  ]),
  /** Rules of retention that are set: what each has taken since the start, and what goes next (`retention show`). */
  retention: Type.Array(
    Type.Object({
      part: Type.String(),
      bytes: Type.Integer(),
      waiting: Type.Integer(),
      first_at: Type.Union([Type.String(), Type.Null()]),
      taken: Type.Integer(),
    }),
  ),
  version: Type.String(),
  /** The predecessor's names for the same (ING-948). */
  server_version: Type.String(),
  uptime_seconds: Type.Number(),
  active_sessions: Type.Integer(),
  /** Of whatever store holds the graph. */
  neo4j_connected: Type.Boolean(),
  metrics: Type.Object({
    accepted_total: Type.Integer(),
    written_total: Type.Integer(),
    in_queue_total: Type.Integer(),
    dead_letter_total: Type.Integer(),
    residual: Type.Integer(),
    degraded: Type.Boolean(),
  }),
});

type StatusOutput = Static<typeof statusOutput>;

/** Everything that keeps the daemon from being well, in words, with the time since when. */
export function degradations(context: OpsContext): readonly Degradation[] {
  const queue = context.ledger.trouble().map(degradationOf);
  return [...queue, ...context.drain.status().trouble, ...context.degraded()];
}

/** Null, and one more degradation, when the disk does not answer: the books are shown all the same. */
async function readDisk(
  context: OpsContext,
): Promise<{ readonly facts: DiskFacts | null; readonly trouble: readonly Degradation[] }> {
  try {
    return { facts: await context.disk(), trouble: [] };
  } catch (error) {
    const since = new Date(context.clock.now()).toISOString();
    const message = `the disk does not tell its space: ${messageOf(error)}`;
    return { facts: null, trouble: [{ code: 'DISK_SILENT', message, since }] };
  }
}

function booksOf(context: OpsContext) {
  const totals = context.ledger.totals();
  const { accepted, applied, pending, dead, discarded, duplicates, oldestPendingMs } = totals;
  const ageMs = oldestPendingMs === null ? null : context.clock.now() - oldestPendingMs;
  return {
    accepted,
    applied,
    pending,
    dead,
    discarded,
    duplicates,
    residual: accepted - applied - pending - dead - discarded,
    quarantined: totals.quarantinedKeys,
    oldest_pending_ms: ageMs === null ? null : Math.max(0, ageMs),
    sessions: { known: totals.knownKeys, active: totals.activeKeys },
    backlog_bytes: totals.backlogBytes,
  };
}

function storageOf(context: OpsContext) {
  const facts = context.storage();
  return facts === undefined ? null : { ...facts.bytes, measured_at: facts.measuredAt };
}

function retentionOf({ part, bytes, waiting, taken }: PartReport) {
  const { count, firstMs } = waiting;
  const first_at = firstMs === null ? null : new Date(firstMs).toISOString();
  return { part, bytes, waiting: count, first_at, taken: taken.count };
}

/** Without credentials: counts and states only (ING-948). */
function withoutWords(status: StatusOutput): StatusOutput {
  const message = 'ask with a token of scope ops:read';
  return {
    ...status,
    degraded: status.degraded.map(({ code, since }) => ({ code, message, since })),
    store: { graph_id: null },
    disk: status.disk === null ? null : { ...status.disk, path: null },
  };
}

/** The books as they are now, as this caller may see them. */
export async function readStatus(
  context: OpsContext,
  caller: Pick<Caller, 'scopes'>,
): Promise<Readonly<Record<string, unknown>>> {
  return statusNow(context, caller);
}

async function statusNow(
  context: OpsContext,
  caller: Pick<Caller, 'scopes'>,
): Promise<StatusOutput> {
  const { facts, trouble } = await readDisk(context);
  const { workers, waitingKeys, share } = context.drain.status();
  const degraded = [...degradations(context), ...trouble];
  const books = booksOf(context);
  const { product } = context.versions;
  const status: StatusOutput = {
    status: degraded.length === 0 ? 'ok' : 'degraded',
    state: context.state(),
    ...books,
    degraded,
    workers: { ...workers },
    waiting_sessions: waitingKeys,
    drain_share: share,
    journal_lag_bytes: context.journalLagBytes(),
    jobs_open: context.jobs.open(),
    store: { graph_id: context.graph.graphId },
    disk:
      facts === null
        ? null
        : { path: facts.path, free_bytes: facts.freeBytes, total_bytes: facts.totalBytes },
    storage: storageOf(context),
    retention: context.retention.reports().map(retentionOf),
    version: product,
    server_version: product,
    uptime_seconds: Math.round(context.clock.monotonic() - context.startedMs) / 1000,
    active_sessions: books.sessions.active,
    neo4j_connected: !degraded.some(({ code }) => code.startsWith('GRAPH_')),
    metrics: {
      accepted_total: books.accepted,
      written_total: books.applied,
      in_queue_total: books.pending,
      dead_letter_total: books.dead,
      residual: books.residual,
      degraded: degraded.length > 0,
    },
  };
  return caller.scopes.has('ops:read') ? status : withoutWords(status);
}

export const statusVerb: Verb = defineVerb({
  name: 'status',
  summary: 'the books of the daemon, and what is degraded',
  effect: 'read',
  scope: null,
  input: Type.Object({}, { additionalProperties: false }),
  output: statusOutput,
  http: { method: 'GET', path: '/v1/status', aliases: [{ method: 'GET', path: '/status' }] },
  run: (context, _input, caller) => statusNow(context, caller),
});

const timeoutMsDefault = 60_000;
const timeoutMsMax = 600_000;

export const waitVerb: Verb = defineVerb({
  name: 'wait',
  summary:
    'answers once everything accepted is applied or dead, or stands still until somebody acts',
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
  output: Type.Object({
    /** False: records of halted sessions are pending, for which nobody need wait. */
    idle: Type.Boolean(),
    waited_ms: Type.Integer(),
    halted: Type.Optional(Type.Object({ sessions: Type.Integer(), pending: Type.Integer() })),
  }),
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
    const waited = Math.round(context.clock.monotonic() - began);
    const { pending, quarantinedKeys } = context.ledger.totals();
    const sessions = quarantinedKeys + context.drain.status().mismatchedKeys;
    const isHalted = sessions > 0 && pending > 0;
    return {
      idle: !isHalted,
      waited_ms: waited,
      ...(isHalted ? { halted: { sessions, pending } } : {}),
    };
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
