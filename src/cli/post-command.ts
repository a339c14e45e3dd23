import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf } from '#base';
import { withDaemonOptions, withExamples, type CommandContext } from './command.ts';
import { outputFailed } from './errors.ts';
import { exitCodes } from './exit-code.ts';
import { postFile, type PostResult, type RejectedLine } from './post-file.ts';
import type { Printer } from './print.ts';
import type { Runner } from './verb-commands.ts';

interface PostFlags {
  readonly workspace?: string;
  readonly session?: string;
  readonly rejects?: string;
}

/** Faults that are told one by one; the rest is counted, and whole in the file of --rejects. */
const toldRejectsMax = 20;

export function addPostCommand(program: Command, run: Runner): void {
  const command = program
    .command('post <files...>')
    .description('post event files: one JSON event per line, in any envelope that millrace knows')
    .option('--workspace <name>', 'workspace of lines that name none')
    .option('--session <id>', 'session of lines that name none')
    .option('--rejects <file>', 'write the lines that did not go in to this file');
  withExamples(
    withDaemonOptions(command),
    'millrace post events.jsonl --workspace demo',
    'cat events.jsonl | millrace post - --rejects refused.jsonl',
  );
  run(command, (context, options, files) => post(context, options as PostFlags, files));
}

async function post(
  context: CommandContext,
  flags: PostFlags,
  files: readonly string[],
): Promise<number> {
  const { printer } = context;
  const client = context.client();
  // Nobody there is told at once; trouble in the middle is waited for.
  await client.send('GET', '/livez');
  const rejects = flags.rejects === undefined ? undefined : openRejects(flags.rejects);
  const results: PostResult[] = [];
  try {
    for (const file of files) {
      let told = 0;
      const onReject = (reject: RejectedLine): void => {
        rejects?.write(reject);
        if (told++ < toldRejectsMax) tellReject(printer, file, reject);
      };
      const { workspace, session } = flags;
      const { clock } = context;
      const result = await postFile(client, file, { workspace, session, clock, printer, onReject });
      if (result.rejected > toldRejectsMax)
        printer.err(`${file}: ${result.rejected - toldRejectsMax} more lines refused`);
      results.push(result);
    }
  } finally {
    rejects?.close();
  }
  printer.out(context.isJson ? JSON.stringify({ files: results }, null, 2) : textOf(results));
  return results.some(({ rejected }) => rejected > 0) ? exitCodes.refused : exitCodes.done;
}

function tellReject(printer: Printer, file: string, reject: RejectedLine): void {
  const place = `${file}:${reject.line} (byte ${reject.offset})`;
  printer.err(`${place}: ${reject.code}: ${reject.message}`);
}

function textOf(results: readonly PostResult[]): string {
  return results
    .map(
      ({ file, queued, duplicates, rejected }) =>
        `${file}: ${queued} stored, ${duplicates} known already, ${rejected} refused`,
    )
    .join('\n');
}

interface Rejects {
  write(reject: RejectedLine): void;
  close(): void;
}

/** The refused lines themselves, so that the file can be mended and posted. */
function openRejects(path: string): Rejects {
  const failing = <T>(fn: () => T): T => {
    try {
      return fn();
    } catch (error) {
      throw outputFailed({ path, reason: messageOf(error) }, error);
    }
  };
  const file = failing(() => openSync(path, 'w', 0o600));
  return {
    write({ bytes }) {
      failing(() => {
        writeSync(file, bytes);
        writeSync(file, '\n');
      });
    },
    close: () => failing(() => closeSync(file)),
  };
}
