import type { Command } from 'commander';
import { withExamples, type CommandContext } from '../command.ts';
import { usage } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { facts } from '../print.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from '../serve/serve-options.ts';
import type { Runner } from '../verbs/verb-commands.ts';

interface CopyFlags extends Pick<ServeFlags, 'root' | 'config' | 'set'> {
  readonly to?: string;
}

/** `graph copy`: works on the root itself, without a daemon (D29). */
export function addGraphCopy(graph: Command, run: Runner): void {
  const copy = graph
    .command('copy')
    .description(
      'copy the whole graph of a root that no daemon serves into the other store; interrupted, it goes on where it was',
    )
    .requiredOption('--to <store>', 'neo4j, or embedded')
    .option('--root <dir>', 'the data root (else MILLRACE_ROOT)')
    .option('--config <file>', 'config file (default: millrace.yaml of the user)')
    .option('--set <key=value...>', 'a setting, as serve takes it')
    .option('--json', 'print one JSON document instead of text');
  withExamples(
    copy,
    'millrace graph copy --to neo4j --root /srv/millrace --set graph.neo4j.url=bolt://127.0.0.1:7687',
    'millrace graph copy --to embedded --root /srv/millrace --set graph.store=neo4j',
  );
  run(copy, (context, options) => graphCopy(context, options as CopyFlags));
}

async function graphCopy(context: CommandContext, flags: CopyFlags): Promise<number> {
  const { environment, printer, isJson } = context;
  const { to } = flags;
  if (to !== 'neo4j' && to !== 'embedded') throw usage({ problem: '--to takes neo4j or embedded' });
  const { copyRootGraph } = await import('#daemon');
  const { digest, nodes, edges } = await copyRootGraph({
    loaded: loadServeConfig(flags, environment),
    root: chooseRoot(flags, environment),
    failpoints: environment.failpoints,
    version: readProductVersion(),
    to,
    tell: ({ phase, done }) =>
      printer.progress(phase === 'digest' ? '  comparing digests' : `  ${phase}: ${done}`),
  });
  const told = { to, digest, nodes, edges, next: `graph.store: ${to}` };
  printer.out(isJson ? JSON.stringify({ ok: true, ...told }, null, 2) : facts(told));
  return exitCodes.done;
}
