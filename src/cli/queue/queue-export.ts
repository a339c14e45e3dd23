import { resolve } from 'node:path';
import type { CommandContext } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { facts, table } from '../print.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from '../serve/serve-options.ts';

export interface ExportFlags extends Pick<ServeFlags, 'root' | 'config' | 'set'> {
  readonly workspace?: string;
}

const warning =
  'cursors are lost: the predecessor counts runs and iterations anew from the offset that each session has; what millrace has applied is in the graph of millrace alone';

/** `queue export-legacy`: the way back to the predecessor (ING-824); 1 when a session could not be written. */
export async function queueExport(
  context: CommandContext,
  flags: ExportFlags,
  folder: string,
): Promise<number> {
  const { environment, printer, isJson } = context;
  const { exportLegacy } = await import('#daemon');
  printer.err(`warning: ${warning}`);
  const report = await exportLegacy({
    loaded: loadServeConfig(flags, environment),
    root: chooseRoot(flags, environment),
    failpoints: environment.failpoints,
    version: readProductVersion(),
    export: {
      folder: resolve(folder),
      workspace: flags.workspace,
      onProgress: ({ sessions, records }) =>
        printer.progress(`  ${sessions} sessions, ${records} records`),
    },
  });
  const { sessions, not_exported: skipped } = report;
  const isWhole = skipped.length === 0;
  if (isJson) {
    printer.out(JSON.stringify({ ok: isWhole, warning, ...report }, null, 2));
  } else {
    const columns = ['session', 'file', 'records', 'pending', 'offset', 'letters', 'gone'];
    const rows = sessions.map((one) => [
      one.session,
      one.name,
      one.records,
      one.pending,
      one.offset,
      one.letters,
      one.gone,
    ]);
    printer.out(table(columns, rows));
    for (const { key, reason } of skipped) printer.out(`not exported ${key}: ${reason}`);
    printer.out(facts({ folder: report.folder, sessions: sessions.length }));
  }
  return isWhole ? exitCodes.done : exitCodes.refused;
}
