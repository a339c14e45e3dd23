import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { messageOf } from '#base';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { outputFailed } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

/** `graph export`: the canonical NDJSON as it comes, to a file or to standard output, in bounded memory. */
export function addExportCommand(graph: Command, run: Runner): void {
  const command = graph
    .command('export')
    .description('the whole graph as canonical NDJSON: nodes, then edges (always JSON)')
    .option('--output <file>', 'write to this file instead of standard output');
  withExamples(
    withDaemonOptions(command),
    'millrace graph export --output graph.ndjson',
    'millrace graph export | sha256sum',
  );
  run(command, (context, options) => exportGraph(context, options['output']));
}

async function exportGraph(context: CommandContext, output: unknown): Promise<number> {
  return saveStream(context, 'graph export', {}, output);
}

/** The answer of a verb that is a stream, to a file that only its owner reads, or to standard output. */
export async function saveStream(
  context: CommandContext,
  verb: string,
  input: Readonly<Record<string, unknown>>,
  output: unknown,
): Promise<number> {
  const chunks = await context.client().stream(await findRoute(verb), input);
  if (typeof output !== 'string') {
    for await (const chunk of chunks) await context.printer.bytes(chunk);
    return exitCodes.done;
  }
  try {
    await pipeline(chunks, createWriteStream(output, { mode: 0o600 }));
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw outputFailed({ path: output, reason: messageOf(error) }, error);
    throw error;
  }
  return exitCodes.done;
}
