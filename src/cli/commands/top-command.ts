import type { Command } from 'commander';
import { formatBytes } from '#base';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { plainText, table } from '../print.ts';
import type { Row } from '../verbs/verb-command.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

/** `top`: the daemon at a look, renewed; on anything that is no terminal, one block of text after the other. */
export function addTopCommand(program: Command, run: Runner): void {
  const command = program
    .command('top')
    .description(
      'rates, lag, backlog and the sessions with the most to do, renewed every two seconds',
    )
    .option('--once', 'one look, and end')
    .option('--interval <ms>', 'milliseconds between two looks', '2000')
    .option('--rows <n>', 'sessions that are shown', '15');
  withExamples(withDaemonOptions(command), 'millrace top', 'millrace top --once --json');
  run(command, watch);
}

interface Look {
  readonly atMs: number;
  readonly status: Row;
  readonly sessions: readonly Row[];
}

async function watch(context: CommandContext, options: Row): Promise<number> {
  const { printer, clock, isJson } = context;
  const everyMs = Math.max(200, Number(options['interval']));
  const rows = Math.max(1, Number(options['rows']));
  const isTerminal = process.stdout.isTTY && !isJson && options['once'] !== true;
  let before: Look | undefined;
  for (;;) {
    const now = await look(context, rows);
    const rates = ratesOf(before, now);
    if (isJson) printer.out(JSON.stringify({ ...now.status, rates, busiest: now.sessions }));
    else printer.out(`${isTerminal ? '\u001b[H\u001b[J' : ''}${pageOf(now, rates)}`);
    if (options['once'] === true) return exitCodes.done;
    before = now;
    await clock.sleep(everyMs);
  }
}

/** Of more sessions than this the busiest is not looked for. */
const activeMax = 1000;

async function look(context: CommandContext, rows: number): Promise<Look> {
  const client = context.client();
  const status = (await client.call(await findRoute('status'), {})) as Row;
  const input = { state: 'active', limit: activeMax };
  const page = (await client.call(await findRoute('sessions list'), input)) as Row;
  const active = (page['sessions'] ?? []) as readonly Row[];
  const sessions = active
    .toSorted((a, b) => Number(b['pending'] ?? 0) - Number(a['pending'] ?? 0))
    .slice(0, rows);
  return { atMs: context.clock.monotonic(), status, sessions };
}

const counted = ['accepted', 'applied', 'dead', 'duplicates'] as const;

/** Per second since the last look; null at the first. */
export function ratesOf(
  before: Look | undefined,
  now: Look,
): Readonly<Record<(typeof counted)[number], number>> | null {
  if (before === undefined) return null;
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1000);
  const rate = (name: string): number =>
    Math.round((Number(now.status[name] ?? 0) - Number(before.status[name] ?? 0)) / seconds);
  return {
    accepted: rate('accepted'),
    applied: rate('applied'),
    dead: rate('dead'),
    duplicates: rate('duplicates'),
  };
}

function pageOf({ status, sessions }: Look, rates: ReturnType<typeof ratesOf>): string {
  const degraded = (status['degraded'] ?? []) as readonly Row[];
  const disk = status['disk'] as Row | null;
  const oldest = status['oldest_pending_ms'];
  const lines = [
    `millrace ${plainText(status['version'])}  ${plainText(status['state'])}  ${degraded.length === 0 ? 'well' : `degraded: ${degraded.length}`}`,
    ...degraded.map(({ code, message }) => `  ! ${plainText(code)}  ${plainText(message)}`),
    '',
    `accepted ${plainText(status['accepted'])}${perSecond(rates?.accepted)}   applied ${plainText(status['applied'])}${perSecond(rates?.applied)}   dead ${plainText(status['dead'])}${perSecond(rates?.dead)}`,
    `pending ${plainText(status['pending'])}   backlog ${formatBytes(Number(status['backlog_bytes'] ?? 0))}   oldest waits ${oldest === null ? '-' : `${plainText(oldest)} ms`}   residual ${plainText(status['residual'])}   quarantined ${plainText(status['quarantined'])}`,
    `disk ${disk === null ? 'does not answer' : `${formatBytes(Number(disk['free_bytes']))} free`}`,
    '',
  ];
  if (sessions.length === 0) return `${lines.join('\n')}no session has anything to do`;
  const columns = ['workspace', 'session_id', 'pending', 'applied', 'dead', 'worker', 'attempts'];
  return `${lines.join('\n')}${table(
    columns,
    sessions.map((row) => columns.map((column) => row[column])),
  )}`;
}

function perSecond(rate: number | undefined): string {
  return rate === undefined ? '' : ` (${rate}/s)`;
}
