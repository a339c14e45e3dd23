import { InvalidArgumentError } from 'commander';
import { usage } from './errors.ts';
import { facts, plainText, table } from './print.ts';
import { quarantineCommands } from './quarantine-table.ts';

/** A verb of room ops as it is typed and shown. */
export interface VerbCommand {
  /** Name of the verb in room ops; chosen by how it was called where one word stands for two. */
  readonly verb: string | ((args: readonly string[]) => string);
  readonly words: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly options?: readonly (readonly [flags: string, help: string])[];
  /** It changes something, so it may be named by a key. */
  readonly isAct?: boolean;
  readonly isDestructive?: boolean;
  /** Without --yes it only shows what it would touch. */
  readonly hasDryRun?: boolean;
  input?(
    options: Readonly<Record<string, unknown>>,
    args: readonly string[],
  ): Record<string, unknown>;
  render?(answer: Readonly<Record<string, unknown>>): string;
  /** The answer tells of something wrong: exit code 1 (D20). */
  hasFindings?(answer: Readonly<Record<string, unknown>>): boolean;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('it must be a whole number of 1 or more');
  return value;
}

export type Row = Readonly<Record<string, unknown>>;

function rowsOf(answer: Row, member: string, columns: readonly string[]): string {
  const list = (answer[member] ?? []) as readonly Row[];
  if (list.length === 0) return 'none';
  const text = table(
    columns,
    list.map((row) => columns.map((column) => row[column])),
  );
  return answer['next_page_token'] === undefined || answer['next_page_token'] === null
    ? text
    : `${text}\nmore: --page-token ${plainText(answer['next_page_token'])}`;
}

const paging = [
  ['--limit <n>', 'rows of a page (1 to 1000)'],
  ['--page-token <token>', 'the page after the one that gave this token'],
] as const;

function pageInput(options: Row): Record<string, unknown> {
  return {
    ...(options['limit'] === undefined ? {} : { limit: count(plainText(options['limit'])) }),
    ...(options['pageToken'] === undefined ? {} : { page_token: options['pageToken'] }),
  };
}

function parameters(pairs: unknown): Record<string, unknown> {
  const list = (pairs ?? []) as readonly string[];
  return Object.fromEntries(
    list.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usage({ problem: `"${pair}" is not NAME=VALUE` });
      const text = pair.slice(at + 1);
      return [pair.slice(0, at), /^\d+$/.test(text) ? Number(text) : text];
    }),
  );
}

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
    summary: 'sessions with their counts, in key order',
    options: [
      ...paging,
      ['--state <state>', 'only active or quarantined sessions'],
      ['--workspace <name>', 'only this workspace'],
    ],
    examples: ['millrace sessions list', 'millrace sessions list --state quarantined --json'],
    input: (options) => ({
      ...pageInput(options),
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

const graphCommands: readonly VerbCommand[] = [
  {
    verb: 'graph query',
    words: 'graph query <name>',
    summary:
      'a named query: sessions, session-tree, tool-calls, files-touched, errors, timeline, token-usage',
    options: [
      [
        '-p, --parameter <name=value...>',
        'a parameter of the query, such as session=ID or workspace=NAME',
      ],
    ],
    examples: [
      'millrace graph query tool-calls',
      'millrace graph query session-tree -p session=s1 -p workspace=demo',
    ],
    input: (options, args) => ({ name: args[0], parameters: parameters(options['parameter']) }),
    render: (answer) => {
      const rows = (answer['rows'] ?? []) as readonly (readonly unknown[])[];
      return rows.length === 0
        ? 'no rows'
        : table((answer['columns'] ?? []) as readonly string[], rows);
    },
  },
  {
    verb: 'graph digest',
    words: 'graph digest',
    summary: 'SHA-256 of the canonical graph: same events, same digest',
    examples: ['millrace graph digest --json'],
    render: (answer) => facts(answer),
  },
  {
    verb: 'graph stats',
    words: 'graph stats',
    summary: 'how many nodes and edges, by label and type',
    examples: ['millrace graph stats'],
    render: (answer) => facts(answer),
  },
  {
    verb: 'graph check',
    words: 'graph check',
    summary: 'one owner for each node, no edge without an end; 1 when something is found',
    examples: ['millrace graph check'],
    hasFindings: (answer) => (answer['findings'] as readonly unknown[]).length > 0,
    render: ({ findings, ...counts }) => {
      const list = rowsOf({ findings }, 'findings', ['rule', 'workspace', 'id', 'tells']);
      return `${facts(counts)}\n\nFindings\n${list}`;
    },
  },
  {
    verb: 'graph adopt',
    words: 'graph adopt [key]',
    summary:
      'make queue and graph know each other again, after one of them was exchanged; without --yes it only shows what it would do',
    options: [
      ['--dry-run', 'only show what it would do, also with --yes'],
      ['--yes', 'really adopt'],
    ],
    isDestructive: true,
    hasDryRun: true,
    examples: [
      'millrace graph adopt',
      'millrace graph adopt --yes',
      'millrace graph adopt KEY --yes',
    ],
    input: (options, args) => ({
      key: args[0],
      dry_run: options['yes'] !== true || options['dryRun'] === true,
    }),
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

export const verbCommands: readonly VerbCommand[] = [
  ...statusCommands,
  ...graphCommands,
  ...deadCommands,
  ...quarantineCommands,
  ...queueCommands,
  ...tokenCommands,
  ...auditCommands,
];
