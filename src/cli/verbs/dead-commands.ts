import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf, systemChance } from '#base';
import { callOnce } from './call-once.ts';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { letterInput, letterOptions, rateOf } from './dead-table.ts';
import { inputUnreadable, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { saveStream } from '../graph/export-command.ts';
import { facts, plainText } from '../print.ts';
import { rowsOf, type Row } from './verb-command.ts';
import type { Runner } from './verb-commands.ts';
import { findRoute } from './verb-route.ts';

/** Verbs over dead letters that are more than one request: jobs that are followed, and acts that are looked at before they are done. */
export function addDeadCommands(dead: Command, run: Runner): void {
  addRequeue(dead, run);
  addEdit(dead, run);
  addDiscard(dead, run);
  const save = withLetterOptions(dead.command('export'))
    .description('dead letters as NDJSON, one a line, payloads too (needs ops:write for those)')
    .option('--retired', 'also letters that were requeued or discarded')
    .option('--output <file>', 'write to this file instead of standard output');
  withExamples(
    withDaemonOptions(save),
    'millrace dead export --output dead.ndjson',
    'millrace dead export --code EVENT_CONTRADICTS | jq .error',
  );
  run(save, (context, options) =>
    saveStream(
      context,
      'dead export',
      { ...letterInput(options), retired: options['retired'] },
      options['output'],
    ),
  );
}

const keyOption = [
  '--idempotency-key <key>',
  'the same key again asks for the first answer, nothing is done twice (default: a fresh one)',
] as const;
const intoCurrent = [
  '--into-current',
  'also letters of an earlier life of a session that is open again',
] as const;

function withLetterOptions(command: Command): Command {
  for (const [flags, help] of letterOptions) command.option(flags, help);
  return command;
}

function addRequeue(dead: Command, run: Runner): void {
  const command = withLetterOptions(dead.command('requeue [ids...]'))
    .description('append dead letters again, as new records; their cause should be mended first')
    .option('--all', 'all letters that there are')
    .option('--dry-run', 'show what it would do to the graph, and do nothing')
    .option('--rate <n>', 'letters per second at most')
    .option(...intoCurrent)
    .option('--reason <text>', 'kept with the job')
    .option('--no-wait', 'begin the job and do not wait for its end')
    .option(...keyOption);
  withExamples(
    withDaemonOptions(command),
    'millrace dead requeue ID',
    'millrace dead requeue --group 1f0c9a27b8d4e655 --dry-run',
    'millrace dead requeue --code HANDLER_FAILED --rate 200',
  );
  run(command, async (context, options, args) => {
    const selection = selectionOf(options, args);
    const isNamed = args.length > 0 || Object.values(selection).some((one) => one !== undefined);
    if (!isNamed && options['all'] !== true)
      throw usage({
        problem: 'name letters by their ids, by --session, --code or another filter, or say --all',
      });
    const acts = { dry_run: options['dryRun'], into_current: options['intoCurrent'] };
    const [only] = args;
    if (only !== undefined && args.length === 1) {
      const answer = await act(context, 'dead requeue', { id: only, ...acts }, options);
      context.printer.out(context.isJson ? json(answer) : facts(answer));
      return exitCodes.done;
    }
    const input = { ...selection, ...acts, ...rateOf(options), reason: options['reason'] };
    const answer = await act(context, 'dead requeue selection', input, options);
    if (answer['dry_run'] === true) return showPreviews(context, answer);
    return followJob(context, answer, options['wait'] !== false);
  });
}

function selectionOf(options: Row, ids: readonly string[]): Record<string, unknown> {
  return { ...letterInput(options), ...(ids.length === 0 ? {} : { ids }) };
}

async function act(context: CommandContext, verb: string, input: Row, options: Row): Promise<Row> {
  const key = options['idempotencyKey'];
  const tools = { clock: context.clock, chance: systemChance };
  const text = key === undefined ? undefined : plainText(key);
  const answer = await callOnce(context.client(), await findRoute(verb), input, text, tools);
  return answer as Row;
}

function json(answer: unknown): string {
  return JSON.stringify(answer, null, 2);
}

function showPreviews(context: CommandContext, answer: Row): number {
  const previews = (answer['previews'] ?? []) as readonly Row[];
  const flat = previews.map((preview) => ({
    ...preview,
    nodes: (preview['nodes'] as readonly unknown[]).length,
    edges: (preview['edges'] as readonly unknown[]).length,
    error: (preview['error'] as Row | null)?.['message'],
  }));
  const table = rowsOf({ previews: flat }, 'previews', [
    'id',
    'outcome',
    'nodes',
    'edges',
    'error',
  ]);
  const { count, summary } = answer;
  context.printer.out(
    context.isJson
      ? json(answer)
      : `${table}\n${plainText(count)} letters; of those that were tried: ${plainText(summary)}`,
  );
  return exitCodes.done;
}

const pollMs = 500;

/** A job outlives its daemon: who followed it is told how to find it again. */
async function lookAgain({ client, printer }: CommandContext, id: unknown): Promise<Row> {
  try {
    return (await client().call(await findRoute('jobs show'), { id })) as Row;
  } catch (error) {
    printer.err(
      `job ${plainText(id)} is kept and goes on with the daemon: millrace jobs show ${plainText(id)}`,
    );
    throw error;
  }
}

/** Tells how far a job is until it ends; 1 when letters were refused. */
export async function followJob(
  context: CommandContext,
  answer: Row,
  isFollowed: boolean,
): Promise<number> {
  const { printer, clock, isJson } = context;
  let job = answer['job'] as Row;
  const { id } = job;
  while (job['state'] === 'running') {
    if (!isFollowed) break;
    const waiting = job['waiting_for'] as Row | null;
    const why = waiting === null ? '' : `, waits: ${plainText(waiting['code'])}`;
    printer.progress(
      `job ${plainText(id)}: ${plainText(job['done'])} of ${plainText(job['total'])}${why}`,
    );
    await clock.sleep(pollMs);
    job = await lookAgain(context, id);
  }
  const now = job['state'] === 'done' ? await becameOf(context, job) : undefined;
  printer.out(isJson ? json({ ...answer, job, now }) : facts(job));
  if (!isJson && now !== undefined) {
    printer.out(`of those that were requeued: ${tellCounts(now)}`);
    if ((now['dead'] ?? 0) > 0)
      printer.err('Next: millrace dead groups (their cause is not mended yet)');
  }
  const refused = (job['counts'] as Row)['refused'];
  if (!isJson && typeof refused === 'number' && refused > 0)
    printer.err(`Next: millrace jobs show ${plainText(id)} --results --result refused`);
  return typeof refused === 'number' && refused > 0 ? exitCodes.refused : exitCodes.done;
}

/** Letters of a job whose end is looked at: an operator wants to know whether the cause is mended, not to count. */
const lookedAtMost = 1000;
const looksMost = 10;

/** How many of the new records are applied, dead again or still pending by now; nothing where no letter was requeued. */
async function becameOf(
  { client, clock }: CommandContext,
  job: Row,
): Promise<Readonly<Record<string, number>> | undefined> {
  if (job['kind'] !== 'requeue' || (job['counts'] as Row)['requeued'] === undefined)
    return undefined;
  const input = { id: job['id'], result: 'requeued', limit: lookedAtMost };
  for (let look = 1; ; look += 1) {
    const { results } = (await client().call(await findRoute('jobs results'), input)) as {
      readonly results: readonly { readonly now: string | null }[];
    };
    const counts: Record<string, number> = {};
    for (const { now } of results) if (now !== null) counts[now] = (counts[now] ?? 0) + 1;
    if (counts['pending'] === undefined || look === looksMost) return counts;
    await clock.sleep(pollMs);
  }
}

function tellCounts(counts: Readonly<Record<string, number>>): string {
  const words = { applied: 'applied', dead: 'dead again', pending: 'pending still' };
  const told = Object.entries(words)
    .filter(([state]) => counts[state] !== undefined)
    .map(([state, word]) => `${counts[state]} ${word}`);
  return told.length === 0 ? 'nothing is known any more' : told.join(', ');
}

function addEdit(dead: Command, run: Runner): void {
  const command = dead
    .command('edit <id>')
    .description('append a dead letter again with another payload; the letter keeps the original')
    .option('--print', 'write the event to standard output, to be edited')
    .option(
      '--file <file>',
      'the edited event: JSON as a client would post it; - is standard input',
    )
    .option('--dry-run', 'show what it would do to the graph, and do nothing')
    .option(...intoCurrent)
    .option(...keyOption);
  withExamples(
    withDaemonOptions(command),
    'millrace dead edit ID --print > event.json',
    'millrace dead edit ID --file event.json --dry-run',
    'millrace dead edit ID --file event.json',
  );
  run(command, async (context, options, args) => {
    const { printer, isJson } = context;
    const [id = ''] = args;
    if (options['print'] === true) {
      const letter = (await context.client().call(await findRoute('dead show'), { id })) as Row;
      const { editable } = letter;
      if (typeof editable !== 'string')
        throw usage({
          problem:
            'its bytes are no event: see "millrace dead show", and post anew what can be saved',
        });
      printer.out(editable);
      return exitCodes.done;
    }
    const file = options['file'];
    if (typeof file !== 'string') throw usage({ problem: 'say --print, edit, and say --file' });
    const event = readEvent(file);
    const flags = { dry_run: options['dryRun'], into_current: options['intoCurrent'] };
    const answer = await act(context, 'dead edit', { id, event, ...flags }, options);
    printer.out(isJson ? json(answer) : facts(answer));
    return exitCodes.done;
  });
}

function readEvent(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw inputUnreadable({ path: file, reason: messageOf(error) }, error);
  }
}

function addDiscard(dead: Command, run: Runner): void {
  const command = withLetterOptions(dead.command('discard [ids...]'))
    .description('give dead letters up for good; without --yes it only shows what it would touch')
    .option('--yes', 'really discard what was shown')
    .option(
      '--confirm <key>',
      'what the dry run gave: these letters and no other, else it is refused; stands for --yes',
    )
    .option('--reason <text>', 'kept in the audit')
    .option(...keyOption);
  withExamples(
    withDaemonOptions(command),
    'millrace dead discard ID',
    'millrace dead discard --session s1 --yes --reason "test data"',
  );
  run(command, async (context, options, args) => {
    const { printer, isJson } = context;
    const [only] = args;
    const named = only !== undefined && args.length === 1 ? { id: only } : undefined;
    const selection = { ...letterInput(options), ...(named ?? selectionOf(options, args)) };
    const given = options['confirm'];
    const isDone = options['yes'] === true || given !== undefined;
    const input = { ...selection, reason: options['reason'] };
    // A script that names its act repeats it as it was; what it touches was looked at before.
    let confirm: unknown = given ?? 'all';
    if (given === undefined && (!isDone || options['idempotencyKey'] === undefined)) {
      const shown = await act(context, 'dead discard', { ...input, dry_run: true }, {});
      confirm = shown['confirm'];
      if (!isDone) {
        printer.out(isJson ? json(shown) : discardText(shown));
        if (!isJson) printer.err('Nothing was discarded. Next: the same with --yes');
        return exitCodes.done;
      }
      printer.err(`discards ${lettersOf(shown['count'])}`);
    }
    const answer = await act(
      context,
      'dead discard',
      { ...input, dry_run: false, confirm },
      options,
    );
    const job = answer['job'] as Row;
    if (job['state'] === 'running') return followJob(context, answer, true);
    printer.out(isJson ? json(answer) : facts(job));
    return exitCodes.done;
  });
}

function lettersOf(count: unknown): string {
  return count === 1 ? '1 dead letter' : `${plainText(count)} dead letters`;
}

/** Letters of a dry run that are named one by one; `--json` has more of them. */
const namedMost = 10;

function discardText({ count, ids, confirm }: Row): string {
  const all = (ids ?? []) as readonly string[];
  const left = Number(count) - Math.min(namedMost, all.length);
  return [
    `${lettersOf(count)} would be discarded`,
    ...all.slice(0, namedMost).map((id) => `  ${id}`),
    ...(left > 0 ? [`  and ${left} more: millrace dead list with the same filter`] : []),
    `confirm  ${plainText(confirm)}`,
  ].join('\n');
}
