import { facts } from '../print.ts';
import { count, pageInput, paging, rowsOf, type Row, type VerbCommand } from './verb-command.ts';
import { plainText } from '../print.ts';

/** How letters are named on the command line, the same in every verb over them. */
export const letterOptions: readonly (readonly [flags: string, help: string])[] = [
  ['--session <id>', 'only this session'],
  ['--workspace <name>', 'only this workspace'],
  ['--key <key>', 'only this key, as dead list shows it'],
  ['--code <code>', 'only letters with this error code'],
  ['--group <group>', 'only letters of this group, as dead groups shows it'],
  ['--event <name>', 'only letters of this event'],
  ['--since <time>', 'only letters made at or after this RFC 3339 time'],
  ['--until <time>', 'only letters made before this RFC 3339 time'],
];

export function letterInput(options: Row): Record<string, unknown> {
  const names = ['session', 'workspace', 'key', 'code', 'group', 'event', 'since', 'until'];
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}

const retired = ['--retired', 'also letters that were requeued or discarded'] as const;

export const deadTable: readonly VerbCommand[] = [
  {
    verb: 'dead list',
    words: 'dead list',
    summary: 'dead letters of all sessions, with their reasons',
    options: [...paging, ...letterOptions, retired],
    examples: ['millrace dead list', 'millrace dead list --code EVENT_CONTRADICTS --json'],
    input: (options) => ({
      ...pageInput(options),
      ...letterInput(options),
      retired: options['retired'],
    }),
    render(answer) {
      const letters = (answer['dead_letters'] ?? []) as readonly Row[];
      const flat = letters.map((letter) => ({ ...letter, ...(letter['error'] as Row) }));
      return rowsOf({ ...answer, dead_letters: flat }, 'dead_letters', [
        'id',
        'session_id',
        'event',
        'code',
        'state',
        'message',
      ]);
    },
  },
  {
    verb: 'dead groups',
    words: 'dead groups',
    summary: 'dead letters by their reasons: how many, since when, and one of each',
    options: [...letterOptions, retired],
    examples: ['millrace dead groups', 'millrace dead groups --workspace demo --json'],
    input: (options) => ({ ...letterInput(options), retired: options['retired'] }),
    render(answer) {
      const groups = (answer['groups'] ?? []) as readonly Row[];
      const flat = groups.map((group) => ({
        ...group,
        events: Object.keys((group['events'] ?? {}) as Row).join(' '),
        sample: (group['sample'] as Row)['id'],
      }));
      return rowsOf({ groups: flat }, 'groups', [
        'group',
        'count',
        'sessions',
        'code',
        'events',
        'first_ts',
        'last_ts',
        'sample',
        'message',
      ]);
    },
  },
  {
    verb: 'dead show',
    words: 'dead show <id>',
    summary: 'one dead letter: payload, reason, earlier lives, and the records beside it',
    options: [['--neighbours <n>', 'records shown on each side (0 to 20, default 3)']],
    examples: ['millrace dead show ID', 'millrace dead show ID --neighbours 10 --json'],
    input: (options, args) => ({
      id: args[0],
      ...(options['neighbours'] === undefined
        ? {}
        : { neighbours: Number(plainText(options['neighbours'])) }),
    }),
    render: (answer) => facts(answer),
  },
];

const jobColumns = ['id', 'kind', 'state', 'total', 'done', 'principal', 'made_at', 'counts'];

export const jobTable: readonly VerbCommand[] = [
  {
    verb: 'jobs list',
    words: 'jobs list',
    summary: 'acts on many dead letters, newest first: how far each is',
    options: paging,
    examples: ['millrace jobs list', 'millrace jobs list --json'],
    input: pageInput,
    render: (answer) => rowsOf(answer, 'jobs', jobColumns),
  },
  {
    verb: (_args, options) => (options?.['results'] === true ? 'jobs results' : 'jobs show'),
    words: 'jobs show <id>',
    summary: 'one job: what was selected, how far it is, and with --results what became of each',
    options: [
      ['--results', 'what became of each letter'],
      ['--result <result>', 'with --results: only requeued, discarded, already or refused ones'],
      ...paging,
    ],
    examples: ['millrace jobs show ID', 'millrace jobs show ID --results --result refused'],
    input: (options, args) =>
      options['results'] === true
        ? { id: args[0], result: options['result'], ...pageInput(options) }
        : { id: args[0] },
    render: (answer) =>
      answer['results'] === undefined
        ? facts(answer)
        : rowsOf(answer, 'results', ['letter', 'result', 'now', 'at', 'code', 'message']),
  },
  ...(
    [
      ['cancel', 'end a job: what is done stays done, the rest is left as it is'],
      ['pause', 'let a job stand still, also over a restart'],
      ['resume', 'let a paused job go on'],
    ] as const
  ).map(([act, summary]): VerbCommand => ({
    verb: `jobs ${act}`,
    words: `jobs ${act} <id>`,
    summary,
    isAct: true,
    examples: [`millrace jobs ${act} ID`],
    input: (_options, args) => ({ id: args[0] }),
    render: (answer) => facts(answer),
  })),
];

/** Letters per second, as it is typed. */
export function rateOf(options: Row): Record<string, unknown> {
  return options['rate'] === undefined ? {} : { per_second: count(plainText(options['rate'])) };
}
