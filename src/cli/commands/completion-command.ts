import { Argument, type Command } from 'commander';
import { completionScript, shells, type CompletionNode, type Shell } from './completion.ts';
import { withExamples } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import type { Runner } from '../verbs/verb-commands.ts';

/** Made from the commands themselves, so that no verb can be forgotten. */
export function addCompletionCommand(program: Command, run: Runner): void {
  const command = program
    .command('completion')
    .description('a script that lets a shell complete every verb and option')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .option('--json', 'print the verbs and their words as one JSON document');
  withExamples(
    command,
    'source <(millrace completion bash)',
    'millrace completion zsh > ~/.zfunc/_millrace',
    'millrace completion fish > ~/.config/fish/completions/millrace.fish',
  );
  run(command, ({ printer, isJson }, _options, args) => {
    const nodes = commandTree(program);
    printer.out(
      isJson
        ? JSON.stringify({ commands: nodes }, null, 2)
        : completionScript(args[0] as Shell, nodes),
    );
    return Promise.resolve(exitCodes.done);
  });
}

/** Every command of the program, the program first. */
export function commandTree(program: Command): readonly CompletionNode[] {
  const walk = (command: Command, path: string): CompletionNode[] => [
    {
      path,
      summary: command.description(),
      words: [
        ...command.commands.map((child) => child.name()),
        ...command.options.flatMap(({ long }) =>
          long === undefined || long === null ? [] : [long],
        ),
        '--help',
      ],
      takesFiles: command.registeredArguments.some((argument) => /file|dir/i.test(argument.name())),
    },
    ...command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`.trim())),
  ];
  return walk(program, '');
}
