import type { ClearMode } from '#queue';
import { usage } from '../errors.ts';
import { facts, plainText, table } from '../print.ts';
import type { Row, VerbCommand } from './verb-command.ts';

const clearModes: readonly ClearMode[] = [
  'keep',
  'offset-from-preserved',
  'restart-log',
  'skip-to-end',
  'pass-over',
];

/** `--skip-to-end` → `skipToEnd`, as the parser names it. */
function flagOf(mode: string): string {
  return mode.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Exactly one of the five flags. */
function modeOf(options: Row): string {
  const given = clearModes.filter((mode) => options[flagOf(mode)] !== undefined);
  const [mode] = given;
  if (mode === undefined || given.length > 1)
    throw usage({
      problem: `name one way out: ${clearModes.map((one) => `--${one}`).join(', ')}`,
    });
  return mode;
}

function waysOf(answer: Row): string {
  const ways = (answer['ways'] ?? []) as readonly Row[];
  const rows = ways.map((way) => [
    `--${plainText(way['mode'])}`,
    way['applies'] === true ? 'yes' : 'no',
    way['reason'],
  ]);
  return table(['way out', 'applies', 'what it does, or why not'], rows);
}

const workspaceOption = [
  '--workspace <name>',
  'needed when the session id exists in several',
] as const;

function triedText(answer: Row): string {
  return answer['dry_run'] === true
    ? `${facts(answer)}\nNothing was changed: say --yes to do it.`
    : facts(answer);
}

/** An act on one session that only shows what it would do until `--yes` is said. */
const triedFirst: Pick<
  VerbCommand,
  'options' | 'isDestructive' | 'hasDryRun' | 'isAct' | 'input' | 'render'
> = {
  options: [['--yes', 'really do it'], workspaceOption],
  isDestructive: true,
  hasDryRun: true,
  isAct: true,
  input: (options, args) => ({
    session: args[0],
    workspace: options['workspace'],
    dry_run: options['yes'] !== true,
  }),
  render: triedText,
};

export const quarantineCommands: readonly VerbCommand[] = [
  {
    verb: 'quarantine list',
    words: 'quarantine list',
    summary: 'sessions that are stopped because their stored state is damaged',
    options: [
      ['--limit <n>', 'rows of a page (1 to 1000)'],
      ['--page-token <token>', 'the page after the one that gave this token'],
      ['--workspace <name>', 'only this workspace'],
    ],
    examples: ['millrace quarantine list', 'millrace quarantine list --json'],
    input: (options) => ({
      ...(options['limit'] === undefined ? {} : { limit: Number(options['limit']) }),
      page_token: options['pageToken'],
      workspace: options['workspace'],
    }),
    render: (answer) => {
      const rows = (answer['quarantine'] ?? []) as readonly Row[];
      if (rows.length === 0) return 'none';
      const columns = ['workspace', 'session_id', 'code', 'since', 'pending', 'message'];
      const text = table(
        columns,
        rows.map((row) => columns.map((column) => row[column])),
      );
      const more = answer['next_page_token'];
      return more === undefined ? text : `${text}\nmore: --page-token ${plainText(more)}`;
    },
  },
  {
    verb: 'quarantine show',
    words: 'quarantine show <session>',
    summary: 'one stopped session: what is damaged, what is kept of it, which ways out apply',
    options: [workspaceOption],
    examples: ['millrace quarantine show s1'],
    input: (options, args) => ({ session: args[0], workspace: options['workspace'] }),
    render: ({ ways, ...answer }) => `${facts(answer)}\n\n${waysOf({ ways })}`,
  },
  {
    verb: 'quarantine clear',
    words: 'quarantine clear <session>',
    summary: 'take one of the five ways out; without --yes it only shows what it would do',
    options: [
      ['--keep', 'go on where it stood: record, generation file and log can be read again'],
      [
        '--offset-from-preserved <file>',
        'take position and cursor of a file kept in its folder (see "quarantine show")',
      ],
      ['--restart-log', 'fold the log again from its beginning'],
      ['--skip-to-end', 'make everything that waits dead letters; needs --confirm KEY'],
      ['--pass-over', 'make the damaged bytes of the log one dead letter and go on behind them'],
      ['--confirm <key>', 'the key of the session, for --skip-to-end'],
      ['--yes', 'really do it'],
      workspaceOption,
    ],
    isDestructive: true,
    hasDryRun: true,
    isAct: true,
    examples: [
      'millrace quarantine clear s1 --pass-over',
      'millrace quarantine clear s1 --pass-over --yes',
      'millrace quarantine clear s1 --skip-to-end --confirm demo~s1 --yes',
    ],
    input: (options, args) => ({
      session: args[0],
      workspace: options['workspace'],
      mode: modeOf(options),
      ...(typeof options['offsetFromPreserved'] === 'string'
        ? { file: options['offsetFromPreserved'] }
        : {}),
      confirm: options['confirm'],
      dry_run: options['yes'] !== true,
    }),
    render: triedText,
  },
  {
    verb: 'queue recover',
    words: 'queue recover [session]',
    summary:
      'judge sessions as a start would, pass dead records that lead, drain again what can be; clears no quarantine',
    options: [workspaceOption],
    isAct: true,
    examples: ['millrace queue recover', 'millrace queue recover s1 --json'],
    input: (options, args) => ({ session: args[0], workspace: options['workspace'] }),
    render: ({ attention, ...answer }) => {
      const rows = (attention ?? []) as readonly Row[];
      const columns = ['key', 'verdict', 'reason', 'message'];
      const list = table(
        columns,
        rows.map((row) => columns.map((column) => row[column])),
      );
      return rows.length === 0 ? facts(answer) : `${facts(answer)}\n\n${list}`;
    },
  },
  {
    verb: 'dead write-off',
    words: 'dead write-off <session>',
    summary:
      'count dead records of a session whose letters are lost (DEAD_LETTERS_MISSING) as discarded; without --yes it only counts them',
    examples: ['millrace dead write-off s1', 'millrace dead write-off s1 --yes'],
    ...triedFirst,
  },
  {
    verb: 'queue replay',
    words: 'queue replay <session>',
    summary:
      'drain a session again from where its log begins; without --yes it only shows where it stands',
    examples: ['millrace queue replay s1', 'millrace queue replay s1 --yes'],
    ...triedFirst,
  },
];
