import type { Command } from 'commander';
import type { Answer, Asker } from '#mcp';
import { lateClient, type Client } from '../client.ts';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readProductVersion } from '../product.ts';
import type { Runner } from '../verbs/verb-commands.ts';
import { findRoute } from '../verbs/verb-route.ts';

export function addMcpCommand(program: Command, run: Runner): void {
  const command = program
    .command('mcp')
    .description(
      'serve named queries and read-only Cypher to an agent over standard input and output (docs/mcp.md)',
    );
  withExamples(
    withDaemonOptions(command),
    'millrace mcp',
    'claude mcp add millrace -- millrace mcp --url http://127.0.0.1:7117',
  );
  run(command, (context) => serve(context));
}

/** Ends when the client closes its end. The daemon need not run yet: each call finds out. */
async function serve(context: CommandContext): Promise<number> {
  // A tenth of a second for a library that only this verb needs.
  const { serveMcp } = await import('#mcp');
  await serveMcp(
    { asker: askerOf(lateClient(() => context.client())), version: readProductVersion() },
    {
      input: process.stdin,
      output: process.stdout,
      onTrouble: ({ message }) => context.printer.err(`${message}\n`),
    },
  );
  return exitCodes.done;
}

function askerOf(client: Client): Asker {
  return {
    async query(name, parameters, signal) {
      const route = await findRoute('graph query');
      return (await client.call(route, { name, parameters }, {}, signal)) as Answer;
    },
    async cypher(body, signal) {
      return (await client.call(await findRoute('graph cypher'), body, {}, signal)) as Answer;
    },
  };
}
