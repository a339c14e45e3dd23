import { deadTable, jobTable } from './dead-table.ts';
import { parseDurationMs } from '#config';
import { usage } from './errors.ts';
import { graphCommands } from './graph-commands.ts';
import { facts, plainText } from './print.ts';
import { count, pageInput, paging, rowsOf, type VerbCommand } from './verb-command.ts';
import { quarantineCommands } from './quarantine-table.ts';

function olderThan(text: unknown): number {
  const ms = typeof text === 'string' ? parseDurationMs(text) : undefined;
  if (ms === undefined) throw usage({ problem: '--older-than wants a duration, such as 90d' });
  return ms;
}

/** What the answer holds for the predecessor's clients alone is the same told twice to people; `--json` keeps it. */
function withoutPredecessors(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const twice = ['server_version', 'active_sessions', 'neo4j_connected', 'metrics'];
  return Object.fromEntries(Object.entries(answer).filter(([name]) => !twice.includes(name)));
}

const statusCommands: readonly VerbCommand[] = [
  {
    verb: 'status',
    words: 'status',
    summary:
      'the books of the daemon: accepted, applied, pending, dead, residual, and what is degraded',
    examples: ['millrace status', 'millrace status --json'],
    render: (answer) => facts(withoutPredecessors(answer)),
  },
  {
    verb: 'sessions list',
    words: 'sessions list',
    summary: 'sessions with their counts, in key order or last changed first',
    options: [
      ...paging,
      ['--state <state>', 'only active, backlog, dead, quarantined or ended sessions'],
      ['--workspace <name>', 'only this workspace'],
      ['--search <text>', 'only those whose id or workspace contains it'],
      ['--recent', 'last changed first'],
    ],
    examples: [
      'millrace sessions list --recent',
      'millrace sessions list --search build --state dead',
      'millrace sessions list --state quarantined --json',
    ],
    input: (options) => ({
      ...pageInput(options),
      ...(options['recent'] === true ? { order: 'recent' } : {}),
      search: options['search'],
      state: options['state'],
      workspace: options['workspace'],
    }),
    render: (answer) =>
      rowsOf(answer, 'sessions', [
        'workspace',
        'session_id',
        'accepted',
        'applied',
        'pending',
        'dead',
        'worker',
      ]),
  },
  {
    verb: 'sessions prune',
    words: 'sessions prune',
    summary:
      'delete sessions whose last event is older than a time, oldest first; without --yes it only shows what would go',
    options: [
      ['--older-than <duration>', 'such as 90d; by the time of their events'],
      ['--workspace <name>', 'only this workspace'],
      ['--limit <n>', 'at most so many (default: 100)'],
      ['--dry-run', 'only show what would go, as without --yes'],
      ['--yes', 'really delete'],
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace sessions prune --older-than 90d',
      'millrace sessions prune --older-than 90d --limit 1000 --yes --json',
    ],
    input: (options) => ({
      older_than_ms: olderThan(options['olderThan']),
      workspace: options['workspace'],
      ...(options['limit'] === undefined ? {} : { limit: count(plainText(options['limit'])) }),
      dry_run: options['yes'] !== true || options['dryRun'] === true,
    }),
    render: (answer) =>
      [
        answer['dry_run'] === true ? 'would go (say --yes):' : 'gone:',
        rowsOf(answer, 'sessions', [
          'workspace',
          'session_id',
          'last_event_at',
          'accepted',
          'dead',
        ]),
        'skipped:',
        rowsOf(answer, 'skipped', ['workspace', 'session_id', 'code']),
        answer['has_more'] === true ? 'there are more: run it again, or raise --limit' : '',
      ].join('\n'),
  },
  {
    verb: 'vacuum',
    words: 'vacuum',
    summary:
      'give disk back that queue, control database and graph do not use; draining waits for the graph meanwhile',
    isAct: true,
    examples: ['millrace vacuum', 'millrace vacuum --json'],
    render: (answer) => rowsOf(answer, 'components', ['name', 'before', 'after']),
  },
  {
    verb: 'sessions delete',
    words: 'sessions delete <session>',
    summary:
      'take a session out of graph, logs, dead letters, objects and ids; without --yes it only shows what would go',
    options: [
      ['--workspace <name>', 'needed when the id exists in several'],
      ['--with-sub-sessions', 'those below it as well'],
      ['--dry-run', 'only show what would go, as without --yes'],
      ['--yes', 'really delete'],
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace sessions delete s1',
      'millrace sessions delete s1 --with-sub-sessions --yes',
    ],
    input: (options, args) => ({
      session: args[0],
      workspace: options['workspace'],
      ...(options['withSubSessions'] === true ? { with_sub_sessions: true } : {}),
      dry_run: options['yes'] !== true || options['dryRun'] === true,
    }),
    render: (answer) =>
      [
        answer['dry_run'] === true ? 'would go (say --yes):' : 'gone:',
        rowsOf(answer, 'sessions', [
          'workspace',
          'session_id',
          'accepted',
          'dead',
          'nodes',
          'objects',
          'refused',
        ]),
      ].join('\n'),
  },
  {
    verb: 'sessions show',
    words: 'sessions show <session>',
    summary: 'one session: positions, backlog, worker, quarantine',
    options: [['--workspace <name>', 'needed when the id exists in several']],
    examples: ['millrace sessions show 0f4c1f5e-6a51-4d0e-9a55-6f1d0c0a7b01'],
    input: (options, args) => ({ session: args[0], workspace: options['workspace'] }),
    render: (answer) => facts(answer),
  },
];

const queueCommands: readonly VerbCommand[] = [
  {
    verb: (args) => (args[0] === undefined ? 'queue compact all' : 'queue compact'),
    words: 'queue compact [session]',
    summary:
      'remove what is committed from the log of a session, or of all; it happens by itself too',
    options: [
      ['--workspace <name>', 'needed when the session id exists in several'],
      ['--min-bytes <n>', 'leave logs with less to remove (default: compaction.min_bytes)'],
      ['--page-token <token>', 'without a session: go on where the last page ended'],
    ],
    isAct: true,
    examples: ['millrace queue compact', 'millrace queue compact s1 --min-bytes 1'],
    input: (options, args) => ({
      ...(options['minBytes'] === undefined
        ? {}
        : { min_bytes: count(plainText(options['minBytes'])) }),
      ...(args[0] === undefined
        ? { page_token: options['pageToken'] }
        : { session: args[0], workspace: options['workspace'] }),
    }),
    render: (answer) =>
      answer['compacted'] === undefined
        ? facts(answer)
        : rowsOf(answer, 'compacted', ['key', 'generation', 'removed_bytes', 'kept_bytes']),
  },
];

const withoutOperator = [
  '--without-operator',
  'though no token with ops:write is left: tokens are then managed while the daemon is stopped',
] as const;

const tokenCommands: readonly VerbCommand[] = [
  {
    verb: 'tokens add',
    words: 'tokens add <name>',
    summary: 'make a token; it is shown once and kept only as a hash',
    options: [
      ['--scope <scope...>', 'what it may do (default: ingest:write, ingest:read)'],
      ['--workspace <name...>', 'workspaces it may use (default: all)'],
      ['--expires <time>', 'RFC 3339 time after which it is refused'],
      withoutOperator,
    ],
    isAct: true,
    examples: [
      'millrace tokens add ops --scope ops:read ops:write ingest:read',
      'millrace tokens add agents',
    ],
    input: (options, args) => ({
      name: args[0],
      scopes: options['scope'],
      workspaces: options['workspace'],
      expires_at: options['expires'],
      without_operator: options['withoutOperator'],
    }),
    render: (answer) => facts(answer),
  },
  {
    verb: 'tokens list',
    words: 'tokens list',
    summary: 'names, scopes, workspaces and expiry of all tokens',
    examples: ['millrace tokens list'],
    render: (answer) =>
      rowsOf(answer, 'tokens', ['name', 'scopes', 'workspaces', 'expires_at', 'created_at']),
  },
  {
    verb: 'tokens revoke',
    words: 'tokens revoke <name>',
    summary: 'refuse a token from now on',
    options: [['--yes', 'really revoke'], withoutOperator],
    isDestructive: true,
    isAct: true,
    examples: ['millrace tokens revoke agents --yes'],
    input: (options, args) => ({ name: args[0], without_operator: options['withoutOperator'] }),
    render: (answer) => facts(answer),
  },
];

const auditCommands: readonly VerbCommand[] = [
  {
    verb: 'audit list',
    words: 'audit list',
    summary: 'acts of operators, newest first: who did what, and what came of it',
    options: paging,
    examples: ['millrace audit list', 'millrace audit list --limit 20 --json'],
    input: pageInput,
    render: (answer) =>
      rowsOf(answer, 'audit', ['began_at', 'principal', 'verb', 'outcome', 'count', 'input']),
  },
];

const configVerbCommands: readonly VerbCommand[] = [
  {
    verb: 'config reload',
    words: 'config reload',
    summary:
      'let the running daemon read its settings again, as SIGHUP does; says what needs a restart',
    isAct: true,
    examples: ['millrace config reload', 'millrace config reload --json'],
    render: (answer) =>
      [
        `in force now\n${rowsOf(answer, 'applied', ['key', 'from', 'to', 'origin'])}`,
        `needs a restart\n${rowsOf(answer, 'needs_restart', ['key', 'from', 'to', 'origin'])}`,
      ].join('\n\n'),
  },
];

export const verbCommands: readonly VerbCommand[] = [
  ...statusCommands,
  ...graphCommands,
  ...deadTable,
  ...jobTable,
  ...quarantineCommands,
  ...queueCommands,
  ...tokenCommands,
  ...auditCommands,
  ...configVerbCommands,
];
