import type { Command } from 'commander';
import { isMillraceError } from '#base';
import { parseDurationMs } from '#config';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

/** One request waits at most this long, so that no proxy in between takes it for dead. */
const sliceMsMax = 30_000;

export function addWaitCommand(program: Command, run: Runner): void {
  const command = program
    .command('wait')
    .description(
      'wait until all accepted events are in the graph or in the dead letters; 1 where some stand still until somebody acts',
    )
    .option('--timeout <duration>', 'give up with exit code 75 after this time', '10min');
  withExamples(withDaemonOptions(command), 'millrace wait', 'millrace wait --timeout 30s --json');
  run(command, (context, options) => wait(context, String(options['timeout'])));
}

interface WaitAnswer {
  readonly halted?: { readonly sessions: number; readonly pending: number };
}

/** Records for which nobody need wait are a finding: whoever goes on would take them for applied. */
function tell({ printer, isJson }: CommandContext, answer: WaitAnswer): number {
  const { halted } = answer;
  if (isJson) printer.out(JSON.stringify(answer, null, 2));
  else if (halted === undefined) printer.out('idle');
  else {
    const records = halted.pending === 1 ? '1 record waits' : `${halted.pending} records wait`;
    const sessions = halted.sessions === 1 ? '1 session' : `${halted.sessions} sessions`;
    printer.out(
      `${records} in ${sessions} that stand still until somebody acts, nothing else does`,
    );
    printer.err('Next: millrace status');
  }
  return halted === undefined ? exitCodes.done : exitCodes.refused;
}

async function wait(context: CommandContext, timeout: string): Promise<number> {
  const timeoutMs = parseDurationMs(timeout);
  if (timeoutMs === undefined)
    throw usage({ problem: `--timeout ${timeout} is no duration, such as 30s` });
  const client = context.client();
  const route = await findRoute('wait');
  const deadline = context.clock.monotonic() + timeoutMs;
  for (;;) {
    const leftMs = Math.max(1, Math.round(deadline - context.clock.monotonic()));
    const slice = { until: 'idle', timeout: Math.min(leftMs, sliceMsMax) };
    try {
      return tell(context, (await client.call(route, slice)) as WaitAnswer);
    } catch (error) {
      // The slice is over, the wait may not be; at its end the error says how much is pending, with exit code 75.
      if (!isMillraceError(error) || error.code !== 'WAIT_TIMED_OUT') throw error;
      if (leftMs <= sliceMsMax) throw error;
      context.printer.progress(`  ${error.message}`);
    }
  }
}
