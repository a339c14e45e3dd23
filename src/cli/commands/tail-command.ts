import type { Command } from 'commander';
import { isMillraceError, messageOf } from '#base';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { daemonUnreachable } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { plainText } from '../print.ts';
import { eventsOf, type SentEvent } from '../post/sent-events.ts';
import type { Row } from '../verbs/verb-command.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

/** `tail`: what happens, as it happens, until it is stopped; a broken connection is taken up again where it ended. */
export function addTailCommand(program: Command, run: Runner): void {
  const command = program
    .command('tail')
    .description(
      'what happens, as it happens: accepted, applied, dead, quarantine, health; and books, when it is asked for',
    )
    .option('--kinds <list>', 'only these, parted by commas')
    .option('--session <id>', 'only this session')
    .option('--workspace <name>', 'only this workspace')
    .option('--key <key>', 'only this key')
    .option('--limit <n>', 'end after so many events');
  withExamples(
    withDaemonOptions(command),
    'millrace tail',
    'millrace tail --kinds dead,quarantine,health',
    'millrace tail --session s1 --json | jq .records',
  );
  run(command, follow);
}

const againMs = 2000;

async function follow(context: CommandContext, options: Row): Promise<number> {
  const { printer, clock, isJson } = context;
  const limit =
    options['limit'] === undefined ? Number.POSITIVE_INFINITY : Number(options['limit']);
  const filter = {
    kinds: options['kinds'],
    session: options['session'],
    workspace: options['workspace'],
    key: options['key'],
  };
  let last: string | undefined;
  let shown = 0;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const input = { ...filter, last_event_id: last };
      const chunks = await context.client().stream(await findRoute('stream'), input);
      for await (const event of eventsOf(chunks)) {
        last = event.id ?? last;
        printer.out(isJson ? event.data : lineOf(event));
        shown += 1;
        if (shown >= limit) return exitCodes.done;
      }
      printer.err('the daemon ended the stream; it is asked again');
    } catch (error) {
      // Whoever never got in has a wrong address or no right; later the daemon is merely away.
      if (isFirst || (isMillraceError(error) && !daemonUnreachable.is(error))) throw error;
      printer.err(`${messageOf(error)}; it is asked again`);
    }
    await clock.sleep(againMs);
  }
}

function lineOf({ event, data }: SentEvent): string {
  const { at, kind: _kind, ...facts } = JSON.parse(data) as Row;
  const time = plainText(at).slice(11, 23).padEnd(12);
  return `${time}  ${event.padEnd(10)}  ${textOf(event, facts)}`;
}

function textOf(event: string, facts: Row): string {
  const where = `${plainText(facts['workspace'])}/${plainText(facts['session_id'])}`;
  const what = `${plainText(facts['code'])}: ${plainText(facts['message'])}`;
  switch (event) {
    case 'accepted':
      return `${where}  ${plainText(facts['records'])} records`;
    case 'applied':
      return `${where}  ${plainText(facts['records'])} records after ${plainText(facts['lag_ms'])} ms`;
    case 'dead':
    case 'quarantine':
      return `${where}  ${what}`;
    case 'books':
      return booksText(facts);
    case 'missed':
      return plainText(facts['message']);
    default:
      return healthText(facts);
  }
}

function booksText(facts: Row): string {
  const names = ['accepted', 'applied', 'pending', 'dead', 'quarantined', 'residual'];
  return names.map((name) => `${name} ${plainText(facts[name])}`).join('  ');
}

function healthText(facts: Row): string {
  const state = facts['state'] === undefined ? '' : plainText(facts['state']);
  const reasons = facts['degraded'] as readonly Row[] | undefined;
  if (reasons === undefined) return `${state} ${plainText(facts['message'])}`.trim();
  if (reasons.length === 0) return `${state} well`.trim();
  const texts = reasons.map(({ code, message }) =>
    `${plainText(code)} ${plainText(message)}`.trim(),
  );
  return `${state} degraded: ${texts.join('; ')}`.trim();
}
