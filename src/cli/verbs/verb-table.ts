import { deadTable, jobTable } from './dead-table.ts';
import { graphCommands } from '../graph/graph-commands.ts';
import { keepingCommands } from './keeping-table.ts';
import { facts, plainText } from '../print.ts';
import { count, pageInput, paging, rowsOf, type VerbCommand } from './verb-command.ts';
import { quarantineCommands } from './quarantine-table.ts';
import { statusText } from './status-text.ts';

const statusCommands: readonly VerbCommand[] = [
  {
    verb: 'status',
    words: 'status',
    summary:
      'the books of the daemon: accepted, applied, pending, dead, residual, and what is degraded',
    examples: ['millrace status', 'millrace status --json'],
    render: statusText,
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
    options: [
      ['--yes', 'really revoke'],
      ['--confirm <name>', 'the name once more; stands for --yes'],
      withoutOperator,
    ],
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
  ...keepingCommands,
  ...graphCommands,
  ...deadTable,
  ...jobTable,
  ...quarantineCommands,
  ...queueCommands,
  ...tokenCommands,
  ...auditCommands,
  ...configVerbCommands,
];
