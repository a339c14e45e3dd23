import { Command, CommanderError } from 'commander';
import { boundYoungGeneration } from '#base';
import { nodeOptions } from '#config';
import { addBackupCommands } from './commands/backup-commands.ts';
import { addConfigCommands } from './serve/config-commands.ts';
import { addDeadCommands } from './verbs/dead-commands.ts';
import { addCompletionCommand } from './commands/completion-command.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { exitCodes } from './exit-code.ts';
import { addExportCommand } from './graph/export-command.ts';
import { addInitCommand } from './serve/init-command.ts';
import { addLabCommands } from './commands/lab-commands.ts';
import { addMcpCommand } from './commands/mcp-command.ts';
import { addPostCommand } from './post/post-command.ts';
import { consolePrinter, endQuietlyWithReader, type Printer } from './print.ts';
import { readProductVersion } from './product.ts';
import { addGraphCopy } from './graph/graph-copy.ts';
import { addQueueCommands } from './queue/queue-commands.ts';
import { createRunner, type Outcome } from './run-action.ts';
import { addServiceCommands } from './serve/service-commands.ts';
import { addServeCommand } from './serve/serve-command.ts';
import { addTailCommand } from './commands/tail-command.ts';
import { addTopCommand } from './commands/top-command.ts';
import { addVerbCommands, groupOf } from './verbs/verb-commands.ts';
import { addVersionCommand } from './commands/version-command.ts';
import { addWaitCommand } from './commands/wait-command.ts';
import { addWatchCommand } from './watch/watch-command.ts';

/** Runs the command line and resolves to the exit code. Never rejects for what a user or the world did. */
export async function main(words: readonly string[], given?: Printer): Promise<number> {
  // A daemon goes on without a reader of its log.
  if (given === undefined) {
    endQuietlyWithReader({ isDaemon: words[0] === 'serve' });
    boundYoungGeneration(nodeOptions());
  }
  const printer = given ?? consolePrinter();
  const outcome: Outcome = { code: exitCodes.done };
  const program = createProgram(printer, outcome);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return outcome.code;
  } catch (error) {
    // Help and version end with 0; every other word of commander's own is about how the line was typed.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    throw error;
  }
}

/** What a manual page has behind its list of commands. */
const generalHelp = `
Every command has --help with examples, and --json.

Finding the daemon: --url, else --port, else daemon.json of --root, else MILLRACE_URL, else daemon.json of MILLRACE_ROOT, else port 7117
of 127.0.0.1. Where a root is named, a daemon of another one refuses to do anything.

Environment:
  MILLRACE_ROOT    the data root              MILLRACE_URL     the daemon
  MILLRACE_TOKEN   bearer token               MILLRACE_A__B    the setting a.b (millrace config show)

Files:
  ~/.config/millrace/millrace.yaml            settings, where --config names no other file
  ~/.local/share/millrace/store               the data root, where none is named

Exit codes:
  0 done                   1 findings, or refused by a rule    2 wrong usage
  69 no daemon answers     70 a bug                            73 cannot write
  74 stored bytes damaged  75 busy or fenced: try again        77 not permitted
  78 cannot work as configured

First steps:
  $ millrace init
  $ millrace serve --root ./millrace-data
  $ millrace status`;

/** All verbs with their words; every subcommand inherits how errors and help are written. */
function createProgram(printer: Printer, outcome: Outcome): Command {
  const program = new Command('millrace')
    .description('a durable ingest daemon that turns the events of agents into one graph')
    .version(readProductVersion())
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError('Next: the same with --help')
    .configureOutput({
      writeOut: (text) => printer.out(text),
      writeErr: (text) => printer.err(text),
    })
    .addHelpText('after', generalHelp);
  const run = createRunner(printer, outcome);
  addServeCommand(program, run);
  addPostCommand(program, run);
  addWatchCommand(program, run);
  addWaitCommand(program, run);
  const groups = addVerbCommands(program, run);
  const graph = groups.get('graph');
  if (graph !== undefined) addExportCommand(graph, run);
  addDeadCommands(groupOf(program, groups, 'dead'), run);
  addQueueCommands(groupOf(program, groups, 'queue'), run);
  addGraphCopy(groupOf(program, groups, 'graph'), run);
  addBackupCommands(groupOf(program, groups, 'backup'), run);
  addConfigCommands(groupOf(program, groups, 'config'), run);
  addInitCommand(program, run);
  addTailCommand(program, run);
  addTopCommand(program, run);
  addDoctorCommand(program, run);
  addLabCommands(program, run);
  addMcpCommand(program, run);
  addServiceCommands(groupOf(program, groups, 'service'), run);
  addCompletionCommand(program, run);
  addVersionCommand(program, run);
  return program;
}
