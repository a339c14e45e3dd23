import { usage } from './errors.ts';
import { graphCommands } from './graph-commands.ts';
import { facts, plainText } from './print.ts';
import { count, pageInput, paging, rowsOf, type Row, type VerbCommand } from './verb-command.ts';
import { quarantineCommands } from './quarantine-table.ts';

const statusCommands: readonly VerbCommand[] = [
  {
    verb: 'status',
    words: 'status',
    summary:
      'the books of the daemon: accepted, applied, pending, dead, residual, and what is degraded',
    examples: ['millrace status', 'millrace status --json'],
    render: (answer) => facts(answer),
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
    verb: 'sessions show',
    words: 'sessions show <session>',
    summary: 'one session: positions, backlog, worker, quarantine',
    options: [['--workspace <name>', 'needed when the id exists in several']],
    examples: ['millrace sessions show 0f4c1f5e-6a51-4d0e-9a55-6f1d0c0a7b01'],
    input: (options, args) => ({ session: args[0], workspace: options['workspace'] }),
    render: (answer) => facts(answer),
  },
];

const letterOptions = [
  ['--session <id>', 'only this session'],
  ['--workspace <name>', 'only this workspace'],
  ['--code <code>', 'only letters with this error code'],
  ['--event <name>', 'only letters of this event'],
  ['--since <time>', 'only letters made at or after this RFC 3339 time'],
] as const;

const letterInput = (options: Row): Record<string, unknown> => ({
  session: options['session'],
  workspace: options['workspace'],
  code: options['code'],
  event: options['event'],
  since: options['since'],
});

const deadCommands: readonly VerbCommand[] = [
  {
    verb: 'dead list',
    words: 'dead list',
    summary: 'dead letters of all sessions, with their reasons',
    options: [
      ...paging,
      ...letterOptions,
      ['--retired', 'also letters that were requeued or discarded, and those of earlier epochs'],
    ],
    examples: ['millrace dead list', 'millrace dead list --code EVENT_CONTRADICTS --json'],
    input: (options) => ({
      ...pageInput(options),
      ...letterInput(options),
      retired: options['retired'],
    }),
    render: (answer) => {
      const letters = (answer['dead_letters'] ?? []) as readonly Row[];
      const flat = letters.map((letter) => ({ ...letter, ...(letter['error'] as Row) }));
      return rowsOf({ ...answer, dead_letters: flat }, 'dead_letters', [
        'id',
        'session_id',
        'event',
        'code',
        'message',
        'state',
      ]);
    },
  },
  {
    verb: 'dead show',
    words: 'dead show <id>',
    summary: 'one dead letter with its payload',
    examples: ['millrace dead show ID'],
    input: (_options, args) => ({ id: args[0] }),
    render: (answer) => facts(answer),
  },
  {
    verb: (args) => (args[0] === undefined ? 'dead requeue of session' : 'dead requeue'),
    words: 'dead requeue [id]',
    summary: 'append a dead letter again, as a new record; its cause should be mended first',
    options: [
      ['--session <id>', 'all live letters of this session instead of one'],
      ['--workspace <name>', 'needed when the session id exists in several'],
    ],
    isAct: true,
    examples: ['millrace dead requeue ID', 'millrace dead requeue --session s1'],
    input: (options, args) => {
      if ((args[0] === undefined) === (options['session'] === undefined))
        throw usage({ problem: 'name one letter by its id, or all of a session by --session' });
      return args[0] === undefined
        ? { session: options['session'], workspace: options['workspace'] }
        : { id: args[0] };
    },
    render: (answer) => facts(answer),
  },
  {
    verb: 'dead discard',
    words: 'dead discard [id]',
    summary: 'give dead letters up by name; without --yes it only shows what it would touch',
    options: [
      ...letterOptions,
      ['--yes', 'really discard'],
      ['--reason <text>', 'kept in the audit log'],
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace dead discard ID',
      'millrace dead discard --session s1 --yes --reason "test data"',
    ],
    input: (options, args) => ({
      id: args[0],
      ...letterInput(options),
      reason: options['reason'],
      dry_run: options['yes'] !== true,
    }),
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
  ...deadCommands,
  ...quarantineCommands,
  ...queueCommands,
  ...tokenCommands,
  ...auditCommands,
  ...configVerbCommands,
];
