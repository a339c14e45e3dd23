import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { openTokenStore, scopes } from '#access';
import { messageOf, systemChance, systemClock } from '#base';
import { configTemplate, type LoadedConfig } from '#config';
import { nodeDisk, stagingNames } from '#disk';
import { layoutOf, type ChosenRoot } from '#roots';
import { withExamples, type CommandContext } from '../command.ts';
import { outputFailed } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { onRootAtRest } from './offline-tokens.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from './serve-options.ts';
import type { Runner } from '../verbs/verb-commands.ts';

interface InitFlags extends ServeFlags {
  readonly tokenName: string;
  /** Commander's `--no-token`. */
  readonly token: boolean;
}

/** What `init` has made, and what was there. */
interface Made {
  readonly config: string;
  readonly config_written: boolean;
  readonly root: string;
  /** The secret, in this answer and nowhere else; null when no token was made. */
  readonly token: string | null;
  readonly token_name: string | null;
}

export function addInitCommand(program: Command, run: Runner): void {
  const command = program
    .command('init')
    .description(
      'write a commented millrace.yaml, make the data root, and its first token; what is there is kept',
    )
    .option('--config <file>', 'file to write (default: millrace.yaml of the user)')
    .option('--root <dir>', 'the data root (else MILLRACE_ROOT)')
    .option('--token-name <name>', 'name of the first token', 'ops')
    .option('--no-token', 'make no root and no token: on loopback none is needed')
    .option('--json', 'print one JSON document instead of text');
  withExamples(
    command,
    'millrace init',
    'millrace init --config ./millrace.yaml --root ./millrace-data',
    'millrace init --no-token',
  );
  run(command, async (context, options) => {
    const made = await init(context, options as unknown as InitFlags);
    context.printer.out(context.isJson ? JSON.stringify(made, null, 2) : told(made));
    return exitCodes.done;
  });
}

async function init({ environment }: CommandContext, flags: InitFlags): Promise<Made> {
  // The file may come to hold secrets.
  process.umask(0o077);
  const config = resolve(flags.config ?? environment.configFile);
  const isWritten = await writeOnce(config, configTemplate());
  const chosen = chooseRoot(flags, environment);
  const loaded = loadServeConfig({ config }, environment);
  const token = flags.token ? await firstToken(chosen, loaded, flags.tokenName) : null;
  return {
    config,
    config_written: isWritten,
    root: chosen.path,
    token,
    token_name: token === null ? null : flags.tokenName,
  };
}

/** False when there is such a file already: it is somebody's, and stays as it is. */
async function writeOnce(path: string, text: string): Promise<boolean> {
  const disk = nodeDisk();
  try {
    if ((await disk.stat(path)) !== undefined) return false;
    await disk.makeDirectory(dirname(path));
    const file = await disk.open(path, 'create');
    try {
      await file.writeAt([Buffer.from(text, 'utf8')], 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.syncDirectory(dirname(path));
    return true;
  } catch (error) {
    throw outputFailed({ path, reason: messageOf(error) }, error);
  }
}

/** Null when the root has tokens: nobody who can read its files needs another one, but who asks for it gets it from `tokens add`. */
async function firstToken(
  chosen: ChosenRoot,
  { config }: LoadedConfig,
  name: string,
): Promise<string | null> {
  const path = config['auth.tokens_file'] ?? layoutOf(chosen.path).tokens;
  const names = stagingNames(process.pid, systemChance);
  const tools = { disk: nodeDisk(), names, clock: systemClock, chance: systemChance };
  const tokens = await openTokenStore({ ...tools, path });
  if (tokens.count() > 0) return null;
  const order = { name, scopes: firstScopes };
  const answer = await onRootAtRest('tokens add', order, { chosen, config });
  return (answer as { readonly token: string }).token;
}

/** What an operator who tries things out needs: events, reads, and the management of the daemon. */
const firstScopes: readonly string[] = scopes.filter((scope) => /^(ingest|ops):/.test(scope));

function told({ config, config_written, root, token, token_name }: Made): string {
  const lines = [
    config_written
      ? `wrote  ${config}: every setting with its default, commented out`
      : `kept   ${config}: it is there already`,
    `root   ${root}`,
    token === null
      ? 'token  none was made'
      : `token  ${token_name}, shown this once, kept as a hash only:`,
    ...(token === null ? [] : ['', `  export MILLRACE_TOKEN=${token}`]),
    '',
    'Next:',
    `  millrace config check ${config}`,
    `  millrace serve --config ${config} --root ${root}`,
  ];
  return lines.join('\n');
}
