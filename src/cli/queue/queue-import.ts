import { closeSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { isUtf8 } from 'node:buffer';
import { messageOf } from '#base';
import type { ImportReport, RefusedLine, SessionReport } from '#legacy';
import type { CommandContext } from '../command.ts';
import { outputFailed } from '../errors.ts';
import { exitCodes } from '../exit-code.ts';
import { facts, table, type Printer } from '../print.ts';
import { readProductVersion } from '../product.ts';
import { chooseRoot, loadServeConfig, type ServeFlags } from '../serve/serve-options.ts';

export interface ImportFlags extends Pick<ServeFlags, 'root' | 'config' | 'set'> {
  readonly workspace?: string;
  readonly pendingOnly?: boolean;
  readonly resetDedup?: boolean;
  readonly rejects?: string;
}

/** Faults that are told one by one; the rest is counted, and whole in the file of --rejects. */
const toldMax = 20;

/** `queue import`: adopts a folder of the predecessor (QFS-24, ING-828); 1 when a line or a session was not taken. */
export async function queueImport(
  context: CommandContext,
  flags: ImportFlags,
  folder: string,
): Promise<number> {
  const { environment, printer, isJson } = context;
  const { importLegacy } = await import('#daemon');
  const rejects = flags.rejects === undefined ? undefined : openRejects(flags.rejects);
  let told = 0;
  const onRefused = (line: RefusedLine): void => {
    rejects?.write(line);
    told += 1;
    if (told <= toldMax) printer.err(refusedText(line));
  };
  let report: ImportReport;
  try {
    report = await importLegacy({
      loaded: loadServeConfig(flags, environment),
      root: chooseRoot(flags, environment),
      failpoints: environment.failpoints,
      version: readProductVersion(),
      import: {
        folder: resolve(folder),
        workspace: flags.workspace,
        isPendingOnly: flags.pendingOnly === true,
        doesResetDedup: flags.resetDedup === true,
        onRefused,
        onProgress: ({ sessions, lines }) =>
          printer.progress(`  ${sessions} sessions, ${lines} lines`),
      },
    });
  } finally {
    rejects?.close();
  }
  if (told > toldMax) printer.err(`${told - toldMax} more lines were refused`);
  tell(printer, report, isJson);
  return isWhole(report) ? exitCodes.done : exitCodes.refused;
}

function refusedText({ file, line, offset, code, message }: RefusedLine): string {
  return shown(`${file}:${line} (byte ${offset}): ${code}: ${message}`);
}

/** What a parser quotes of damaged bytes must not steer a terminal. */
function shown(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const counted = [
  'lines',
  'queued',
  'duplicates',
  'refused',
  'dead_lines',
  'letters',
  'letters_taken',
  'letters_known',
  'letters_waiting',
] as const;

type Totals = Record<(typeof counted)[number], number>;

function totalsOf(sessions: readonly SessionReport[]): Totals {
  const sum = (name: (typeof counted)[number]): number =>
    sessions.reduce((total, session) => total + session[name], 0);
  return Object.fromEntries(counted.map((name) => [name, sum(name)])) as Totals;
}

function isWhole({ sessions }: ImportReport): boolean {
  const { refused, letters_waiting: waiting } = totalsOf(sessions);
  return refused === 0 && waiting === 0 && sessions.every(({ state }) => state === 'imported');
}

function tell(printer: Printer, report: ImportReport, isJson: boolean): void {
  const { folder, sessions, not_taken: others } = report;
  const totals = totalsOf(sessions);
  if (isJson) {
    printer.out(JSON.stringify({ ok: isWhole(report), ...report, totals }, null, 2));
    return;
  }
  const rows = sessions.map((one) => [
    one.name,
    one.state,
    one.lines,
    one.handled,
    one.pending,
    one.queued,
    one.duplicates,
    one.refused,
    `${one.letters_taken} of ${one.letters}`,
    one.offset.reason === 'offset_sound' ? '' : `${one.offset.reason}: ${one.offset.message}`,
  ]);
  const columns = [
    'session',
    'state',
    'lines',
    'handled',
    'pending',
    'new',
    'known',
    'refused',
    'letters',
    'note',
  ];
  printer.out(table(columns, rows));
  for (const { name, reason } of others) printer.out(`not taken ${name}: ${reason}`);
  printer.out(facts({ folder, sessions: sessions.length, ...totals }));
}

interface Rejects {
  write(line: RefusedLine): void;
  close(): void;
}

/** One JSON line per refused line, with its place and its bytes. */
function openRejects(path: string): Rejects {
  const failing = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw outputFailed({ path, reason: messageOf(error) }, error);
    }
  };
  const file = failing(() => openSync(path, 'w', 0o600));
  return {
    write({ bytes, ...place }) {
      const payload = isUtf8(bytes)
        ? { payload: Buffer.from(bytes).toString('utf8') }
        : { payload_b64: Buffer.from(bytes).toString('base64') };
      failing(() => writeSync(file, `${JSON.stringify({ ...place, ...payload })}\n`));
    },
    close: () => failing(() => closeSync(file)),
  };
}
