import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf } from '#base';
import { formatNames, type FormatName } from '#formats';
import { withDaemonOptions, withExamples, type CommandContext } from '../command.ts';
import type { Client } from '../client.ts';
import { outputFailed, usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { postFile, type PostResult, type RejectedLine } from './post-file.ts';
import type { Printer } from '../print.ts';
import { listWatched } from '../watch/watch-files.ts';
import type { Runner } from '../verbs/verb-commands.ts';

interface PostFlags {
  readonly workspace?: string;
  readonly session?: string;
  readonly rejects?: string;
  readonly format?: string;
}

/** Faults that are told one by one; the rest is counted, and whole in the file of --rejects. */
const toldRejectsMax = 20;

export function addPostCommand(program: Command, run: Runner): void {
  const command = program
    .command('post <files...>')
    .description(
      'post files of events, transcripts, rollouts and hook payloads; each line is recognised by its content',
    )
    .option('--format <name>', `take every line as this format (${formatNames.join(', ')})`)
    .option(
      '--workspace <name>',
      'workspace of lines that name none (else the project that the file tells)',
    )
    .option('--session <id>', 'session of lines that name none')
    .option('--rejects <file>', 'write the lines that did not go in to this file');
  withExamples(
    withDaemonOptions(command),
    'millrace post events.jsonl --workspace demo',
    'millrace post ~/.claude/projects ~/.codex/sessions',
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
  const format = formatOf(flags.format);
  // Nobody there is told at once; trouble in the middle is waited for.
  const lineBytesMax = await askEventLimit(client);
  const rejects = flags.rejects === undefined ? undefined : openRejects(flags.rejects);
  const results: PostResult[] = [];
  try {
    for (const file of filesOf(files, printer)) {
      const teller = rejectTeller(printer, file);
      const onReject = (reject: RejectedLine): void => {
        rejects?.write(file, reject);
        teller.tell(reject);
      };
      const { workspace, session } = flags;
      const { clock } = context;
      const options = { workspace, session, format, lineBytesMax, clock, printer, onReject };
      const result = await postFile(client, file, options);
      teller.end(result.rejected, rejects !== undefined);
      results.push(result);
    }
  } finally {
    rejects?.close();
  }
  const told = { files: results, total: totalOf(results) };
  printer.out(context.isJson ? JSON.stringify(told, null, 2) : textOf(results));
  return results.some(({ rejected }) => rejected > 0) ? exitCodes.refused : exitCodes.done;
}

/** Lines of one reason that are told; a file of a foreign format has one reason for all of its lines. */
const toldAlikeMax = 3;

function rejectTeller(
  printer: Printer,
  file: string,
): {
  tell(reject: RejectedLine): void;
  end(rejected: number, areKept: boolean): void;
} {
  const alike = new Map<string, number>();
  let told = 0;
  return {
    tell({ line, offset, code, message }) {
      const reason = `${code}: ${message}`;
      const before = alike.get(reason) ?? 0;
      if (told >= toldRejectsMax || before >= toldAlikeMax) return;
      alike.set(reason, before + 1);
      told += 1;
      printer.err(`${file}:${line} (byte ${offset}): ${reason}`);
    },
    end(rejected, areKept) {
      const left = rejected - told;
      if (left <= 0) return;
      const lines = left === 1 ? '1 more line' : `${left} more lines`;
      printer.err(`${file}: ${lines} refused${areKept ? '' : '; --rejects FILE keeps them'}`);
    },
  };
}

/** A folder stands for the session files below it. */
function filesOf(paths: readonly string[], printer: Printer): readonly string[] {
  return paths.flatMap((path) => {
    const isFolder =
      path !== '-' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder) return [path];
    const onTrouble = (where: string, error: Error): void => {
      printer.err(`cannot read ${where}: ${error.message}`);
    };
    const found = listWatched([path], onTrouble).map((file) => file.path);
    if (found.length === 0)
      printer.err(
        `${path}: no .jsonl file lies below it; name files with other endings one by one`,
      );
    return found;
  });
}

export function formatOf(name: string | undefined): FormatName | undefined {
  const format = formatNames.find((known) => known === name);
  if (name !== undefined && format === undefined)
    throw usage({ problem: `--format ${name} is none of ${formatNames.join(', ')}` });
  return format;
}

/** A daemon that does not publish its limit has the usual one. */
export async function askEventLimit(client: Client): Promise<number | undefined> {
  const response = await client.send('GET', '/v1/limits');
  if (!response.ok) return undefined;
  const answer = (await response.json()) as { readonly limits?: Readonly<Record<string, unknown>> };
  const told = answer.limits?.['ingest.max_event_bytes'];
  return typeof told === 'number' ? told : undefined;
}

const sums = ['lines', 'bytes', 'events', 'queued', 'duplicates', 'skipped', 'rejected'] as const;

function totalOf(results: readonly PostResult[]): Readonly<Record<string, number>> {
  const total: Record<string, number> = { files: results.length };
  for (const name of sums) total[name] = results.reduce((sum, result) => sum + result[name], 0);
  return total;
}

function textOf(results: readonly PostResult[]): string {
  const lines = results.map(({ file, ...counts }) => `${file}: ${wordsOf(counts)}`);
  if (results.length === 1) return lines.join('\n');
  const { files, queued = 0, duplicates = 0, rejected = 0 } = totalOf(results);
  return [...lines, `${files} files: ${wordsOf({ queued, duplicates, rejected })}`].join('\n');
}

function wordsOf({
  queued,
  duplicates,
  rejected,
}: Pick<PostResult, 'queued' | 'duplicates' | 'rejected'>): string {
  const refused = rejected === 1 ? '1 line refused' : `${rejected} lines refused`;
  return `${queued} stored, ${duplicates} known already, ${refused}`;
}

interface Rejects {
  write(file: string, reject: RejectedLine): void;
  close(): void;
}

/** The refused lines themselves, so that the file can be mended and posted. One that is too long is copied from its file, piece by piece. */
function openRejects(path: string): Rejects {
  const failing = <T>(fn: () => T): T => {
    try {
      return fn();
    } catch (error) {
      throw outputFailed({ path, reason: messageOf(error) }, error);
    }
  };
  const out = failing(() => openSync(path, 'w', 0o600));
  return {
    write(file, reject) {
      failing(() => {
        const isWhole = reject.bytes.length === reject.length || file === '-';
        if (isWhole) writeSync(out, reject.bytes);
        else copyRange(file, reject, out);
        writeSync(out, '\n');
      });
    },
    close: () => failing(() => closeSync(out)),
  };
}

const copyBytes = 1024 * 1024;

function copyRange(file: string, { offset, length }: RejectedLine, out: number): void {
  const from = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(copyBytes, length));
    for (let done = 0; done < length;) {
      const read = readSync(from, buffer, 0, Math.min(buffer.length, length - done), offset + done);
      if (read === 0) return;
      writeSync(out, buffer, 0, read);
      done += read;
    }
  } finally {
    closeSync(from);
  }
}
