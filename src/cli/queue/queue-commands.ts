import type { Command } from 'commander';
import { withExamples } from '../command.ts';
import { queueExport, type ExportFlags } from './queue-export.ts';
import { queueImport, type ImportFlags } from './queue-import.ts';
import { queueVerify, type VerifyFlags } from './queue-verify.ts';
import type { Runner } from '../verbs/verb-commands.ts';

const rootOption = ['--root <dir>', 'the data root (else MILLRACE_ROOT)'] as const;
const jsonOption = ['--json', 'print one JSON document instead of text'] as const;

/** The verbs over the queue that work on the root itself, without a daemon (D29). */
export function addQueueCommands(queue: Command, run: Runner): void {
  const verify = queue
    .command('verify')
    .description(
      'read the whole queue of a root, compare it with its graph, and tell what is wrong; changes nothing, 1 on findings',
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
  const adopt = queue
    .command('import <dir>')
    .description(
      'adopt the queue folder of the predecessor: its logs and dead letters; the folder is only read',
    )
    .option(...rootOption)
    .option('--workspace <name>', 'workspace of lines that name none')
    .option('--pending-only', 'leave out what the predecessor had committed')
    .option('--reset-dedup', 'forget the ids of these events first: they are taken again')
    .option('--rejects <file>', 'write the lines that did not go in to this file, as JSON')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option(...jsonOption);
  withExamples(
    adopt,
    'millrace queue import /data/queues --root /srv/millrace',
    'millrace queue import /data/queues --root /srv/millrace --rejects refused.ndjson --json',
  );
  run(adopt, (context, options, [folder = '']) =>
    queueImport(context, options as ImportFlags, folder),
  );
  const back = queue
    .command('export-legacy <dir>')
    .description(
      'write the flat form that the predecessor reads into a new folder; cursors are lost',
    )
    .option(...rootOption)
    .option('--workspace <name>', 'only sessions of this workspace')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option(...jsonOption);
  withExamples(back, 'millrace queue export-legacy /data/queues-back --root /srv/millrace');
  run(back, (context, options, [folder = '']) =>
    queueExport(context, options as ExportFlags, folder),
  );
}
