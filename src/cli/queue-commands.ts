import type { Command } from 'commander';
import { withExamples } from './command.ts';
import { queueVerify, type VerifyFlags } from './queue-verify.ts';
import type { Runner } from './verb-commands.ts';

const rootOption = ['--root <dir>', 'the data root (else MILLRACE_ROOT)'] as const;
const jsonOption = ['--json', 'print one JSON document instead of text'] as const;

/** The verbs over the queue that work on the root itself, without a daemon (D29). */
export function addQueueCommands(queue: Command, run: Runner): void {
  const verify = queue
    .command('verify')
    .description(
      'read the whole queue of a root and tell what is wrong; changes nothing, 1 on findings',
    )
    .option(...rootOption)
    .option('--all', 'tell every session, also those without findings')
    .option(...jsonOption);
  withExamples(
    verify,
    'millrace queue verify --root /srv/millrace',
    "millrace queue verify --root /srv/millrace --all --json | jq '.keys[] | {key, pending}'",
  );
  run(verify, (context, options) => queueVerify(context, options as VerifyFlags));
}
