import type { Command } from 'commander';
import type { Clock } from '#base';
import type { Environment } from '#config';
import type { Client } from './client.ts';
import type { Printer } from './print.ts';

/** What a verb's action gets: everything that touches the world, passed in. */
export interface CommandContext {
  readonly printer: Printer;
  readonly clock: Clock;
  readonly isJson: boolean;
  readonly environment: Environment;
  /** A client of the daemon that the options name (D29). */
  client(): Client;
}

/** Options that every verb has. */
export interface SharedOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly port?: string;
  readonly root?: string;
  readonly token?: string;
}

/** Adds the options by which a verb finds its daemon. */
export function withDaemonOptions(command: Command): Command {
  return command
    .option('--json', 'print one JSON document instead of text')
    .option(
      '--url <url>',
      'the daemon (else --port, that of --root, MILLRACE_URL, that of MILLRACE_ROOT, port 7117)',
    )
    .option('--port <port>', 'the daemon on this port of 127.0.0.1')
    .option('--root <dir>', 'the daemon that serves this root, and no other')
    .option('--token <token>', 'bearer token (else MILLRACE_TOKEN)');
}

/** Examples below the help, one per line. */
export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`,
  );
}
