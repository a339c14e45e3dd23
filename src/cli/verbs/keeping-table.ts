import { formatBytes, parseBytes } from '#base';
import { parseDurationMs } from '#config';
import { usage } from '../errors.ts';
import { facts, plainText } from '../print.ts';
import { count, rowsOf, type Row, type VerbCommand } from './verb-command.ts';

const parts = ['graph', 'objects', 'archives', 'letters'] as const;

/** An age: a bare number would be milliseconds in the settings, which nobody means here. */
function ageOf(options: Row): number | undefined {
  const text = options['olderThan'];
  if (text === undefined) return undefined;
  const words = plainText(text);
  if (/^[0-9.]+$/.test(words))
    throw usage({
      problem: `--older-than ${words} has no unit: say ${words}d for days, ${words}h for hours or ${words}min for minutes`,
    });
  const ms = parseDurationMs(words);
  if (ms === undefined)
    throw usage({ problem: `--older-than ${words} is no duration: 90d, 12h and 30min are` });
  return ms;
}

function sizeOf(options: Row): number | undefined {
  const text = options['maxBytes'];
  if (text === undefined) return undefined;
  const bytes = parseBytes(plainText(text));
  if (bytes === undefined)
    throw usage({ problem: `--max-bytes ${plainText(text)} is no size: 20GiB, 500MiB and 0 are` });
  return bytes;
}

function limitOf(options: Row): { limit?: number } {
  return options['limit'] === undefined ? {} : { limit: count(plainText(options['limit'])) };
}

function isDryRun(options: Row): boolean {
  const isConfirmed = options['yes'] === true || options['confirm'] !== undefined;
  return !isConfirmed || options['dryRun'] === true;
}

function wouldGo(answer: Row): string {
  if (answer['dry_run'] !== true) return 'gone:';
  const isNothing = ['sessions', 'items'].every(
    (name) => ((answer[name] ?? []) as readonly unknown[]).length === 0,
  );
  if (isNothing) return 'would go:';
  return `would go (say --yes, or --confirm ${plainText(answer['confirm'])} for this and nothing else):`;
}

function hasMore(answer: Row): string {
  return answer['has_more'] === true ? 'there are more: run it again, or raise --limit' : '';
}

const confirmOption = [
  '--confirm <key>',
  'what the dry run gave: this goes and nothing else, else it is refused; stands for --yes',
] as const;
const dryRunOption = ['--dry-run', 'only show what would go, as without --yes'] as const;

/** What goes for good, and what gives disk back. */
export const keepingCommands: readonly VerbCommand[] = [
  {
    verb: 'sessions prune',
    words: 'sessions prune',
    summary:
      'delete sessions whose last event is older than a time, oldest first; without --yes it only shows what would go',
    options: [
      ['--older-than <duration>', 'such as 90d; by the time of their events'],
      ['--workspace <name>', 'only this workspace'],
      ['--limit <n>', 'at most so many (default: 100)'],
      dryRunOption,
      ['--yes', 'really delete'],
      confirmOption,
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace sessions prune --older-than 90d',
      'millrace sessions prune --older-than 90d --limit 1000 --yes --json',
    ],
    input: (options) => ({
      older_than_ms: olderThan(options),
      workspace: options['workspace'],
      ...limitOf(options),
      confirm: options['confirm'],
      dry_run: isDryRun(options),
    }),
    render: (answer) =>
      [
        wouldGo(answer),
        rowsOf(answer, 'sessions', [
          'workspace',
          'session_id',
          'last_event_at',
          'accepted',
          'dead',
        ]),
        'skipped:',
        rowsOf(answer, 'skipped', ['workspace', 'session_id', 'code']),
        hasMore(answer),
      ].join('\n'),
  },
  {
    verb: 'sessions delete',
    words: 'sessions delete <session>',
    summary:
      'take a session out of graph, logs, dead letters, objects and ids; without --yes it only shows what would go',
    options: [
      ['--workspace <name>', 'needed when the id exists in several'],
      ['--with-sub-sessions', 'those below it as well'],
      dryRunOption,
      ['--yes', 'really delete'],
      confirmOption,
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
      confirm: options['confirm'],
      dry_run: isDryRun(options),
    }),
    render: (answer) =>
      [
        answer['deleted_before'] === null
          ? wouldGo(answer)
          : `it is gone already, by the act of ${plainText(answer['deleted_before'])}:`,
        rowsOf(answer, 'sessions', [
          'workspace',
          'session_id',
          'accepted',
          'dead',
          'nodes',
          'bytes',
          'objects',
          'refused',
        ]),
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
    verb: 'retention show',
    words: 'retention show',
    summary: 'rules of retention that are set, what they have taken, and what goes next',
    examples: ['millrace retention show', 'millrace retention show --json'],
    render: (answer) => {
      const rules = (answer['rules'] ?? []) as readonly Row[];
      return rules.length === 0
        ? 'no rule is set: everything stays (retention.* in millrace config show)'
        : rules.map(ruleText).join('\n\n');
    },
  },
  {
    verb: 'retention run',
    words: 'retention run <part>',
    summary:
      'let go what is older or more than a rule says: sessions (graph), objects, archives, or settled dead letters (letters); without --yes it only shows what would go',
    options: [
      ['--older-than <duration>', 'such as 90d (default: the rule of the settings)'],
      ['--max-bytes <size>', 'such as 20GiB: the oldest go until no more is left'],
      ['--limit <n>', 'at most so many (default: 1000)'],
      dryRunOption,
      ['--yes', 'really let go'],
      confirmOption,
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace retention run graph --older-than 90d',
      'millrace retention run archives --max-bytes 20GiB --yes',
      'millrace retention run letters --dry-run',
    ],
    input: (options, args) => ({
      part: partOf(args[0]),
      max_age_ms: ageOf(options),
      max_bytes: sizeOf(options),
      ...limitOf(options),
      confirm: options['confirm'],
      dry_run: isDryRun(options),
    }),
    render: (answer) =>
      [
        wouldGo(answer),
        rowsOf(answer, 'items', ['name', 'at', 'bytes', 'why']),
        `${plainText(answer['part'])}: ${plainText(answer['count'])}, ${sizeText(answer['taken_bytes'])} of ${sizeText(answer['bytes'])}`,
        'skipped:',
        rowsOf(answer, 'skipped', ['name', 'code']),
        hasMore(answer),
      ].join('\n'),
  },
];

/** One rule for people: what it says, how much there is, what goes next, what it has taken. */
function ruleText(rule: Row): string {
  const { max_age_ms: age, max_bytes: most, bytes, waiting, trouble } = rule;
  const says = [
    ...(typeof age === 'number' ? [`older than ${durationText(age)}`] : []),
    ...(typeof most === 'number' ? [`above ${formatBytes(most)}`] : []),
  ];
  const next =
    waiting === null
      ? 'not looked at yet'
      : waiting === 0
        ? 'nothing goes within a day'
        : `${plainText(waiting)} (${sizeText(rule['waiting_bytes'])}) go within a day, the first at ${plainText(rule['first_at'])}`;
  return facts({
    [plainText(rule['part'])]: {
      goes: says.join(', and '),
      now: bytes === null ? '-' : sizeText(bytes),
      next,
      taken: `${plainText(rule['taken'])} (${sizeText(rule['taken_bytes'])}) since the daemon has started`,
      'not before': rule['from'],
      'looked at': rule['looked_at'],
      ...(trouble === null ? {} : { trouble }),
    },
  });
}

function sizeText(bytes: unknown): string {
  return formatBytes(Number(bytes));
}

function durationText(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 48 ? `${Math.round(hours / 2.4) / 10} d` : `${Math.round(hours * 10) / 10} h`;
}

function olderThan(options: Row): number {
  const ms = ageOf(options);
  if (ms === undefined)
    throw usage({ problem: '--older-than is missing, such as --older-than 90d' });
  return ms;
}

function partOf(text: string | undefined): string {
  const part = parts.find((one) => one === text);
  if (part === undefined)
    throw usage({ problem: `"${text ?? ''}" is none of ${parts.join(', ')}` });
  return part;
}
