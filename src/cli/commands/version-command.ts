import type { Command } from 'commander';
import { withExamples } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { facts } from '../print.ts';
import { readProductVersion } from '../product.ts';
import type { Runner } from '../verbs/verb-commands.ts';

/** Works without a daemon; what a daemon speaks is at GET /v1/version. */
export function addVersionCommand(program: Command, run: Runner): void {
  const command = program
    .command('version')
    .description('version of this program and of its Node.js')
    .option('--json', 'print one JSON document instead of text');
  withExamples(command, 'millrace version', 'millrace version --json');
  run(command, async ({ printer, isJson }) => {
    const { node, sqlite } = process.versions;
    const versions = { product: readProductVersion(), node, sqlite: sqlite ?? null };
    printer.out(isJson ? JSON.stringify(versions, null, 2) : facts(versions));
    return Promise.resolve(exitCodes.done);
  });
}
