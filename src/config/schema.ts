import type { KeySpec, KindValues } from './key-spec.ts';

/** Every key (ING spec §8) that this version obeys. Units stand in the name. */
export const configSchema = {
  profile: {
    kind: 'choice',
    choices: ['embedded'],
    default: 'embedded',
    help: 'where queue, graph, state and objects live; everything embedded in the root',
  },
  'http.listen': {
    kind: 'address',
    default: '127.0.0.1:7117',
    help: 'address of the HTTP listener; any but a loopback one needs tokens',
  },
  'http.allowed_hosts': {
    kind: 'list',
    default: '',
    help: 'names that a proxy may forward as Host, beside the loopback names',
  },
  'http.max_connections': {
    kind: 'count',
    default: null,
    help: 'connections at once; by default a third of the files that the process may open, so that journal and stores keep theirs',
  },
  'auth.mode': {
    kind: 'choice',
    choices: ['auto', 'none'],
    default: 'auto',
    help: 'auto: no token needed on loopback while none exists; none: never, loopback only',
  },
  'auth.tokens_file': {
    kind: 'text',
    default: null,
    help: 'file of token hashes; by default tokens.json in the root',
  },
  'queue.backend': {
    kind: 'choice',
    choices: ['filesystem'],
    default: 'filesystem',
    help: 'where the log lives',
  },
  'queue.fsync': {
    kind: 'choice',
    choices: ['group', 'none'],
    default: 'group',
    help: 'group: acknowledged after the sync of a shared frame; none: for benches, keeps no promise',
  },
  'queue.key_encoding': {
    kind: 'choice',
    choices: ['plain', 'hashed'],
    default: 'plain',
    help: 'names of session folders; hashed for case-insensitive file systems, fixed when the root is made',
  },
  'queue.segment_bytes': {
    kind: 'size',
    default: '64MiB',
    least: 65536,
    help: 'size of a journal segment',
  },
  'queue.archive': {
    kind: 'flag',
    default: 'false',
    help: 'keeps what logs lose when sessions end or are compacted, gzipped in the folders of their sessions',
    isLive: true,
  },
  'queue.max_bytes_per_key': {
    kind: 'size',
    default: '256MiB',
    help: 'backlog of one session at which its events get 429',
    isLive: true,
  },
  'queue.max_bytes': {
    kind: 'size',
    default: '8GiB',
    help: 'backlog of all sessions at which events get 503',
    isLive: true,
  },
  'queue.reserve_bytes': {
    kind: 'size',
    default: null,
    least: 0,
    help: 'disk kept free for commits and dead letters; by default 256 MiB or 5 % of the disk, the smaller',
  },
  'quarantine.max_backlog_bytes': {
    kind: 'size',
    default: '64MiB',
    help: 'backlog of a quarantined session at which its events get 503',
    isLive: true,
  },
  'ingest.max_event_bytes': {
    kind: 'size',
    default: '16MiB',
    help: 'largest event; a larger one gets 413',
    isLive: true,
  },
  'ingest.max_batch_records': {
    kind: 'count',
    default: '10000',
    help: 'most events of one request',
    isLive: true,
  },
  'ingest.max_batch_bytes': {
    kind: 'size',
    default: '64MiB',
    help: 'largest body of one request, unpacked',
  },
  'ingest.redact': {
    kind: 'list',
    items: 'redaction',
    default: '',
    help: 'what is taken out of events before they are stored: keys, secrets, /pattern/, $.data.path (docs/redaction.md); nothing by default',
    isLive: true,
  },
  'drain.max_batch_records': {
    kind: 'count',
    default: '100',
    help: 'records of one session folded at once',
  },
  'drain.max_batch_bytes': {
    kind: 'size',
    default: '4MiB',
    help: 'bytes of one session folded at once',
  },
  'drain.group_max_records': {
    kind: 'count',
    default: '1000',
    help: 'records of all sessions in one graph transaction',
  },
  'drain.write_concurrency': {
    kind: 'count',
    default: '4',
    help: 'graph transactions prepared at once',
  },
  'drain.max_delivery_attempts': {
    kind: 'count',
    default: '3',
    help: 'tries of one record before it becomes a dead letter; an outage uses none',
  },
  'drain.poll_ms': {
    kind: 'duration',
    default: '250ms',
    help: 'between two sweeps over the sessions with a backlog; idle sessions are never polled',
  },
  'drain.idle_exit_ms': {
    kind: 'duration',
    default: '10min',
    help: 'an idle worker leaves memory after this time',
  },
  'compaction.idle_ms': {
    kind: 'duration',
    default: '1min',
    help: 'the log of a session that was drained for so long loses what is committed',
    isLive: true,
  },
  'compaction.min_bytes': {
    kind: 'size',
    default: '1MiB',
    help: 'committed bytes of a log from which on that is worth it',
    isLive: true,
  },
  'supervisor.backoff_ms': {
    kind: 'duration',
    default: '100ms',
    help: 'first wait after a failure that may pass',
  },
  'supervisor.backoff_max_ms': {
    kind: 'duration',
    default: '30s',
    help: 'longest wait between two tries',
  },
  'supervisor.degraded_after': {
    kind: 'count',
    default: '5',
    help: 'failures in a row after which the status says degraded',
  },
  'boot.auto_reset_max_bytes': {
    kind: 'size',
    default: '0',
    least: 0,
    help: 'a log up to this size whose position is damaged is drained again from its beginning by itself; 0: never, an operator decides',
  },
  'boot.respawn_limit': {
    kind: 'count',
    default: '8',
    help: 'workers that a start wakes at a time, oldest backlog first',
  },
  'cursor.max_bytes': {
    kind: 'size',
    default: '256KiB',
    help: 'largest state of a fold',
  },
  'graph.store': {
    kind: 'choice',
    choices: ['embedded', 'neo4j'],
    default: 'embedded',
    help: 'where the graph lives: in a file of the root, or in a Neo4j server (docs/neo4j.md)',
  },
  'graph.neo4j.url': {
    kind: 'text',
    default: 'bolt://127.0.0.1:7687',
    help: 'address of the Neo4j server: bolt://, neo4j://, with +s for TLS',
  },
  'graph.neo4j.user': {
    kind: 'text',
    default: null,
    help: 'user of the Neo4j server; without it no credentials are shown',
  },
  'graph.neo4j.password': {
    kind: 'text',
    default: null,
    help: 'password of that user; better in the environment or in password_file than in this file',
    isSecret: true,
  },
  'graph.neo4j.password_file': {
    kind: 'text',
    default: null,
    help: 'file that holds the password, read at each start; goes before password',
  },
  'graph.neo4j.database': {
    kind: 'text',
    default: null,
    help: "database of the Neo4j server; without it the server's default one",
  },
  'graph.spill_bytes': {
    kind: 'size',
    default: '32KiB',
    least: 1024,
    help: 'larger values are kept beside the graph; fixed in a graph when it is made',
  },
  'graph.max_tx_bytes': {
    kind: 'size',
    default: '16MiB',
    help: 'largest graph transaction',
  },
  'backup.dir': {
    kind: 'text',
    default: null,
    help: 'where backups are written; without it anywhere outside the root, and nowhere when the listener is not loopback',
    isLive: true,
  },
  'lock.warn_ms': {
    kind: 'duration',
    default: '2s',
    help: 'a longer wait for a session lock is logged',
  },
  'deadletter.retention': {
    kind: 'duration',
    default: null,
    help: 'dead letters older than this are discarded, after a day of notice in status and metrics; by default none ever is',
    isLive: true,
  },
  'retention.graph.max_age': {
    kind: 'duration',
    default: null,
    least: 60_000,
    help: 'sessions whose last event is older than this are deleted, oldest first, after a day of notice; never one with records that wait or dead letters that are not settled',
    isLive: true,
  },
  'retention.graph.max_bytes': {
    kind: 'size',
    default: null,
    least: 0,
    help: 'while the graph takes more than this, sessions are deleted, oldest first, after a day of notice; never one with records that wait or dead letters that are not settled',
    isLive: true,
  },
  'retention.objects.max_age': {
    kind: 'duration',
    default: null,
    least: 60_000,
    help: 'large values older than this are taken away, though the graph names them; a value is as old as the last event that names it',
    isLive: true,
  },
  'retention.objects.max_bytes': {
    kind: 'size',
    default: null,
    least: 0,
    help: 'while large values take more than this, the oldest are taken away',
    isLive: true,
  },
  'retention.archives.max_age': {
    kind: 'duration',
    default: null,
    least: 60_000,
    help: 'archived logs (queue.archive) older than this are taken away',
    isLive: true,
  },
  'retention.archives.max_bytes': {
    kind: 'size',
    default: null,
    least: 0,
    help: 'while archived logs take more than this, the oldest are taken away',
    isLive: true,
  },
  'retention.letters.max_age': {
    kind: 'duration',
    default: null,
    least: 60_000,
    help: 'dead letters of ended sessions that were requeued or discarded longer ago than this are forgotten; one that is not settled never is',
    isLive: true,
  },
  'retention.letters.max_bytes': {
    kind: 'size',
    default: null,
    least: 0,
    help: 'while settled dead letters of ended sessions take more than this, the oldest are forgotten',
    isLive: true,
  },
  'metrics.residual_grace_ms': {
    kind: 'duration',
    default: '15s',
    help: 'a residual that stays longer makes the status degraded',
  },
  'otlp.endpoint': {
    kind: 'text',
    default: null,
    help: 'OpenTelemetry collector that metrics and a sample of spans are pushed to (OTLP over HTTP), such as http://127.0.0.1:4318; by default nothing is pushed',
  },
  'otlp.headers': {
    kind: 'list',
    default: '',
    help: 'headers of each push, NAME=VALUE, such as an authorization',
    isSecret: true,
  },
  'otlp.interval_ms': {
    kind: 'duration',
    default: '15s',
    least: 1000,
    help: 'time between two pushes to the collector',
  },
  'shutdown.grace_ms': {
    kind: 'duration',
    default: '130s',
    help: 'a stop is finished after this time, whatever still runs',
    isLive: true,
  },
  'log.level': {
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    help: 'least important line that is logged',
    isLive: true,
  },
  'log.file': {
    kind: 'text',
    default: null,
    help: 'file that log lines are appended to instead of standard error; opened anew on SIGUSR1 and SIGHUP, after it was rotated',
  },
} as const;

export type ConfigKey = keyof typeof configSchema;

type ValueOf<S extends KeySpec> = S extends { readonly choices: readonly (infer C)[] }
  ? C
  : KindValues[S['kind']];

/** The settings in force: numbers are bytes or milliseconds as the key's name says; null where the product works it out. */
export type Config = {
  readonly [K in ConfigKey]:
    | ValueOf<(typeof configSchema)[K]>
    | ((typeof configSchema)[K]['default'] extends null ? null : never);
};

export function isConfigKey(text: string): text is ConfigKey {
  return Object.hasOwn(configSchema, text);
}

export function specOf(key: ConfigKey): KeySpec {
  return configSchema[key];
}

export const configKeyNames: readonly ConfigKey[] = Object.keys(configSchema) as ConfigKey[];

/** `queue.max_bytes` is MILLRACE_QUEUE__MAX_BYTES. */
export function environmentName(key: ConfigKey): string {
  return `MILLRACE_${key.replaceAll('.', '__').toUpperCase()}`;
}
