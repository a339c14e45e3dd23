import type { Command } from 'commander';
import { parseDurationMs } from '#config';
import { withDaemonOptions, withExamples, type CommandContext } from './command.ts';
import { usage } from './errors.ts';
import { exitCodes } from './exit-code.ts';
import type { Runner } from './verb-commands.ts';
import { findRoute } from './verb-route.ts';

/** One request waits at most this long, so that no proxy in between takes it for dead. */
const sliceMsMax = 30_000;

export function addWaitCommand(program: Command, run: Runner): void {
  const command = program
    .command('wait')
    .description('wait until all accepted events are in the graph or in the dead letters')
    .option('--timeout <duration>', 'give up with exit code 75 after this time', '10min');
  withExamples(withDaemonOptions(command), 'millrace wait', 'millrace wait --timeout 30s --json');
  run(command, (context, options) => wait(context, String(options['timeout'])));
}

async function wait(context: CommandContext, timeout: string): Promise<number> {
  const timeoutMs = parseDurationMs(timeout);
  if (timeoutMs === undefined)
    throw usage({ problem: `--timeout ${timeout} is no duration, such as 30s` });
  const client = context.client();
  const deadline = context.clock.monotonic() + timeoutMs;
  for (;;) {
    const leftMs = Math.max(0, Math.round(deadline - context.clock.monotonic()));
    const answer = (await client.call(findRoute('wait'), {
      until: 'idle',
      timeout: Math.min(leftMs, sliceMsMax),
    })) as Readonly<Record<string, unknown>>;
    const isIdle = answer['idle'] === true;
    if (!isIdle && leftMs > sliceMsMax) {
      context.printer.progress(`  ${String(answer['pending'])} pending`);
      continue;
    }
    if (context.isJson) context.printer.out(JSON.stringify(answer, null, 2));
    else context.printer.out(isIdle ? 'idle' : `not idle: ${String(answer['pending'])} pending`);
    return isIdle ? exitCodes.done : exitCodes.later;
  }
}
